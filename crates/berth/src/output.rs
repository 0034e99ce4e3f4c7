//! What the user sees: data on standard output, everything else on standard error.

mod excerpt;
mod printer;
mod progress;
mod table;
mod tree;
mod words;

pub(crate) use self::{
    excerpt::excerpts,
    printer::{Printer, Report},
    progress::Progress,
    table::Table,
    tree::Tree,
    words::{counted, printable, rfc3339},
};
