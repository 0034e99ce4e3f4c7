//! Users and groups of a host, from its `passwd` and `group` files.

use std::collections::BTreeMap;

use crate::item::Owner;

/// A user of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The user's number and that of their first group.
    pub owner: Owner,
    /// The home directory.
    pub home: String,
}

/// The users and groups of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accounts {
    users: BTreeMap<String, Account>,
    groups: BTreeMap<String, u32>,
}

impl Accounts {
    /// Reads the two files. A line that is not as it should be is left out, as the C library does.
    pub fn parse(passwd: &str, group: &str) -> Self {
        let mut accounts = Self::default();
        for line in passwd.lines() {
            let fields: Vec<&str> = line.split(':').collect();
            if let [name, _, user, group, _, home, _] = fields.as_slice()
                && let (Ok(user), Ok(group)) = (user.parse(), group.parse())
                && home.starts_with('/')
            {
                let account = Account {
                    owner: Owner { user, group },
                    home: (*home).to_owned(),
                };
                accounts.users.entry((*name).to_owned()).or_insert(account);
            }
        }
        for line in group.lines() {
            let fields: Vec<&str> = line.split(':').collect();
            if let [name, _, number, _] = fields.as_slice()
                && let Ok(number) = number.parse()
            {
                accounts.groups.entry((*name).to_owned()).or_insert(number);
            }
        }
        accounts
    }

    /// The user of this name.
    pub fn user(&self, name: &str) -> Option<&Account> {
        self.users.get(name)
    }

    /// The number of the group of this name.
    pub fn group(&self, name: &str) -> Option<u32> {
        self.groups.get(name).copied()
    }
}
