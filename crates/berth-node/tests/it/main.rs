//! The executable, run on roots that the tests make.

#[cfg(test)]
mod garbage;
#[cfg(test)]
mod generator;
#[cfg(test)]
mod hooks;
#[cfg(test)]
mod machine;
#[cfg(test)]
mod shapes;
#[cfg(test)]
mod systemd;
