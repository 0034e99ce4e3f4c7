//! What the user sees: data on standard output, everything else on standard error.

mod excerpt;
mod printer;
mod table;
mod tree;
mod words;

pub(crate) use self::{
    excerpt::excerpts,
    printer::{Printer, Report},
    table::Table,
    tree::Tree,
    words::{counted, printable, rfc3339},
};
