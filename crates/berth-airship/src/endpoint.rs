//! Routes with their description: one list from which the router and the API's description are made.

use std::borrow::Cow;

use axum::{
    handler::Handler,
    http::{Method, StatusCode},
    routing::{MethodFilter, MethodRouter, on},
};

use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::{
    auth::rules::{Rule, UNSAID},
    state::ApiState,
};

/// Whose words a route speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Deckhand,
    Shipyard,
    Drydock,
    Promenade,
}

impl Family {
    pub(super) const ALL: [Self; 4] = [Self::Deckhand, Self::Shipyard, Self::Drydock, Self::Promenade];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Deckhand => "Documents",
            Self::Shipyard => "Staging, actions and service",
            Self::Drydock => "Tasks and nodes",
            Self::Promenade => "Labels of nodes",
        }
    }
}

/// One route: a method on a path.
#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) family: Family,
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) handler: MethodRouter<ApiState>,
    /// A name for programs, such as `listRevisions`.
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    pub(super) description: &'static str,
    pub(super) parameters: &'static [Parameter],
    pub(super) body: Option<Content>,
    pub(super) replies: &'static [Reply],
    /// What a caller must be allowed to do; nothing for routes that are open to everybody.
    pub(super) rule: Option<&'static Rule>,
    /// What a caller must be allowed to do to see secrets here.
    pub(super) reveals: Option<&'static Rule>,
}

/// A parameter of a query.
#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) repeated: bool,
    pub(super) description: &'static str,
}

/// What a parameter can be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Text,
    Truth,
    Number,
    OneOf(&'static [&'static str]),
}

/// What a body holds: how it is written, and the type that it is made from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Content {
    pub(super) media_type: &'static str,
    /// The name of the type in the description.
    pub(super) name: fn() -> Cow<'static, str>,
    pub(super) schema: fn(&mut SchemaGenerator) -> Schema,
}

/// A way in which a request can go well. How it can fail is the same everywhere.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) content: Option<Content>,
    pub(super) description: &'static str,
}

pub(super) const fn content<T: JsonSchema>(media_type: &'static str) -> Content {
    Content {
        media_type,
        name: T::schema_name,
        schema: SchemaGenerator::subschema_for::<T>,
    }
}

pub(super) const fn yaml<T: JsonSchema>() -> Content {
    content::<T>("application/x-yaml")
}

pub(super) const fn json<T: JsonSchema>() -> Content {
    content::<T>("application/json")
}

pub(super) const fn reply(status: StatusCode, content: Content, description: &'static str) -> Reply {
    Reply {
        status,
        content: Some(content),
        description,
    }
}

pub(super) const fn empty(status: StatusCode, description: &'static str) -> Reply {
    Reply {
        status,
        content: None,
        description,
    }
}

pub(super) const fn parameter(name: &'static str, kind: Kind, description: &'static str) -> Parameter {
    Parameter {
        name,
        kind,
        repeated: false,
        description,
    }
}

pub(super) const fn repeated(name: &'static str, kind: Kind, description: &'static str) -> Parameter {
    Parameter {
        name,
        kind,
        repeated: true,
        description,
    }
}

impl Endpoint {
    pub(super) fn new<H, T>(
        family: Family,
        method: MethodFilter,
        path: &'static str,
        id: &'static str,
        handler: H,
    ) -> Self
    where
        H: Handler<T, ApiState>,
        T: 'static,
    {
        let name = match method {
            MethodFilter::PUT => Method::PUT,
            MethodFilter::POST => Method::POST,
            MethodFilter::DELETE => Method::DELETE,
            _ => Method::GET,
        };
        Self {
            family,
            method: name,
            path,
            handler: on(method, handler),
            id,
            summary: "",
            description: "",
            parameters: &[],
            body: None,
            replies: &[],
            rule: Some(&UNSAID),
            reveals: None,
        }
    }

    pub(super) const fn needs(mut self, rule: &'static Rule) -> Self {
        self.rule = Some(rule);
        self
    }

    pub(super) const fn for_everybody(mut self) -> Self {
        self.rule = None;
        self
    }

    pub(super) const fn reveals(mut self, rule: &'static Rule) -> Self {
        self.reveals = Some(rule);
        self
    }

    pub(super) const fn says(mut self, summary: &'static str, description: &'static str) -> Self {
        self.summary = summary;
        self.description = description;
        self
    }

    pub(super) const fn takes(mut self, parameters: &'static [Parameter]) -> Self {
        self.parameters = parameters;
        self
    }

    pub(super) const fn reads(mut self, body: Content) -> Self {
        self.body = Some(body);
        self
    }

    pub(super) const fn answers(mut self, replies: &'static [Reply]) -> Self {
        self.replies = replies;
        self
    }
}
