//! What becomes of one field, given its values from weakest to strongest.

use ignition_config::v3_5::HttpHeaders;

use super::{
    Merge,
    list::{Keyed, Slots},
};

/// A value that must be there: the last.
pub(super) fn always<T>(first: T, later: Vec<T>) -> T {
    later.into_iter().next_back().unwrap_or(first)
}

/// An optional value: the last that is there.
pub(super) fn replace<T>(first: Option<T>, later: Vec<Option<T>>) -> Option<T> {
    later.into_iter().rev().find(Option::is_some).flatten().or(first)
}

/// A section that must be there.
pub(super) fn section<T: Merge>(first: T, later: Vec<T>) -> T {
    T::merge(first, later)
}

/// An optional section: merged from those that are there.
pub(super) fn merge<T: Merge>(first: Option<T>, later: Vec<Option<T>>) -> Option<T> {
    let mut sections = first.into_iter().chain(later.into_iter().flatten());
    let first = sections.next()?;
    let later: Vec<T> = sections.collect();
    if later.is_empty() {
        return Some(first);
    }
    Some(T::merge(first, later))
}

/// A list without keys: joined.
pub(super) fn append<T>(first: Option<Vec<T>>, later: Vec<Option<Vec<T>>>) -> Option<Vec<T>> {
    let joined: Vec<T> = entries(first, later).collect();
    (!joined.is_empty()).then_some(joined)
}

/// A list with keys.
pub(super) fn keyed<T: Keyed>(first: Option<Vec<T>>, later: Vec<Option<Vec<T>>>) -> Option<Vec<T>> {
    let mut slots = Slots::default();
    entries(first, later).for_each(|entry| slots.add(entry));
    slots.finish()
}

/// Headers: one without a value takes back the one that was set before.
pub(super) fn headers(first: Option<HttpHeaders>, later: Vec<Option<HttpHeaders>>) -> Option<HttpHeaders> {
    let mut slots = Slots::default();
    for header in entries(first, later) {
        if header.value.is_none() && slots.contains(&header.name) {
            slots.remove(&header.name);
        } else {
            slots.add(header);
        }
    }
    slots.finish()
}

fn entries<T>(first: Option<Vec<T>>, later: Vec<Option<Vec<T>>>) -> impl Iterator<Item = T> {
    std::iter::once(first).chain(later).flatten().flatten()
}
