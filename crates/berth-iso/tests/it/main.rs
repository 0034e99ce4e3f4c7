//! The crate from outside: images made byte by byte, archives made by other means, and damage of all kinds.

#[cfg(test)]
mod archives;
#[cfg(test)]
mod backups;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod image;
#[cfg(test)]
mod images;
