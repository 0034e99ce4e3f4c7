//! Where a rendered value is written.

use serde_json::Value as Json;

use crate::{
    deckhand::PathPart,
    node::{Key, Node, Value},
    object::from_scalar,
    source::Span,
};

/// The place of a field by its path, such as `.metadata.labels` or `.data.list[0]`: the deepest part of the path that is
/// there. For lists and mappings that is their key, which is shorter than they are.
pub(super) fn place_of(root: &Node, path: &str) -> Option<Span> {
    let mut place = None;
    let mut node = root;
    let mut rest = path;
    loop {
        match &node.value {
            Value::Map(map) => {
                let at = rest.strip_prefix('.').unwrap_or(rest);
                // Keys may have dots in them, so the longest that fits is the one.
                let fitting = map.iter().filter_map(|(key, value)| {
                    let after = at.strip_prefix(key.as_str()).filter(|_| !key.as_str().is_empty())?;
                    (after.is_empty() || after.starts_with(['.', '['])).then_some((key, value, after))
                });
                let Some((key, value, after)) = fitting.max_by_key(|(key, ..)| key.as_str().len()) else {
                    return place;
                };
                place = Some(match value.value {
                    Value::Map(_) | Value::Seq(_) | Value::Null => key.span,
                    _ => value.span,
                });
                (node, rest) = (value, after);
            }
            Value::Seq(items) => {
                let index = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
                let item = index.and_then(|(index, after)| Some((items.get(index.parse::<usize>().ok()?)?, after)));
                let Some((item, after)) = item else {
                    return place;
                };
                place = Some(item.span);
                (node, rest) = (item, after);
            }
            _ => return place,
        }
    }
}

/// The trees in which a value may be written, the likeliest first.
pub(super) struct Candidates<'a> {
    nodes: Vec<&'a Node>,
    /// Values that came from elsewhere, and the way to where they went.
    substituted: Vec<(&'a [PathPart], &'a Node)>,
}

impl<'a> Candidates<'a> {
    pub(super) const fn new(nodes: Vec<&'a Node>) -> Self {
        Self {
            nodes,
            substituted: Vec::new(),
        }
    }

    /// A value was put at `to`, and is written at `from` in `source`, if it is there at all.
    pub(super) fn substituted(&mut self, to: &'a [PathPart], source: &'a Node, from: &[PathPart]) {
        // The path of a source that is one value is not looked at.
        let node = match source.value {
            Value::Map(_) | Value::Seq(_) => from.iter().try_fold(source, step),
            _ => Some(source),
        };
        if let Some(node) = node {
            self.substituted.push((to, node));
        }
    }

    /// The value as a tree with places.
    pub(super) fn node(&self, value: &Json, around: Span) -> Node {
        let here = self.substituted.iter().filter(|(way, _)| way.is_empty());
        let nodes: Vec<&Node> = here.map(|(_, node)| *node).chain(self.nodes.iter().copied()).collect();
        match value {
            Json::Object(entries) => {
                let span = nodes
                    .iter()
                    .find(|node| node.as_map().is_some())
                    .map_or(around, |it| it.span);
                let entries = entries.iter().map(|(key, value)| {
                    let found = nodes.iter().find_map(|node| node.as_map()?.get_key_value(key));
                    let key_span = found.map_or(span, |(key, _)| key.span);
                    let inner = self.inner(&nodes, &PathPart::Key(key.clone()));
                    let text = found.map_or_else(|| key.as_str().into(), |(key, _)| key.text.clone());
                    (Key { span: key_span, text }, inner.node(value, key_span))
                });
                Node::new(span, Value::Map(entries.collect()))
            }
            Json::Array(items) => {
                let span = nodes
                    .iter()
                    .find(|node| node.as_seq().is_some())
                    .map_or(around, |it| it.span);
                let items = items.iter().enumerate();
                let items = items.map(|(index, item)| self.inner(&nodes, &PathPart::Index(index)).node(item, span));
                Node::new(span, Value::Seq(items.collect()))
            }
            scalar => {
                if let Some(same) = nodes.iter().find(|node| is_scalar(node) && node.to_json() == *scalar) {
                    return (*same).clone();
                }
                // A value that was changed on the way, by a pattern: it is still written there.
                let place = nodes
                    .iter()
                    .find(|node| is_scalar(node))
                    .map_or(around, |node| node.span);
                Node::new(place, from_scalar(scalar))
            }
        }
    }

    fn inner(&self, nodes: &[&'a Node], next: &PathPart) -> Self {
        Self {
            nodes: nodes.iter().filter_map(|node| step(node, next)).collect(),
            substituted: self
                .substituted
                .iter()
                .filter_map(|(way, node)| {
                    let (first, rest) = way.split_first()?;
                    (first == next).then_some((rest, *node))
                })
                .collect(),
        }
    }
}

fn step<'a>(node: &'a Node, step: &PathPart) -> Option<&'a Node> {
    match step {
        PathPart::Key(key) => node.get(key),
        PathPart::Index(index) => node.as_seq()?.get(*index),
    }
}

const fn is_scalar(node: &Node) -> bool {
    !matches!(node.value, Value::Map(_) | Value::Seq(_))
}
