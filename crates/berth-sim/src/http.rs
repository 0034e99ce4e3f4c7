//! The cluster over HTTP: what a request asks for, and the form of the answer.

mod accept;
mod body;
mod query;
mod route;
mod serve;
mod watching;

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use serde_json::{Value, json};

use self::{
    accept::Form,
    body::AnswerBody,
    query::Query,
    route::{ObjectPath, Route},
};
use crate::{
    access::{Attempt, Identity, MASTERS, authorize, may_touch, refused},
    cluster::{Caller, Cluster, Deleted, Target},
    discovery,
    failure::{Failure, NO_SUCH_GROUP},
    object::text,
    openapi,
    patch::PatchKind,
    resources::Hit,
    storage::Place,
    table::table,
};

pub use serve::{ApiServer, ListenError};

/// The largest body that is read, as real API servers have it.
const BODY_LIMIT: usize = 3 * 1024 * 1024;

type Answer = Response<AnswerBody>;

/// Answers one request.
pub(crate) async fn answer(cluster: &Cluster, address: &str, request: Request<Incoming>) -> Answer {
    match handle(cluster, address, request).await {
        Ok(answer) => answer,
        Err(failure) => refusal(&failure),
    }
}

fn refusal(failure: &Failure) -> Answer {
    if failure.reason == NO_SUCH_GROUP {
        return bytes_answer(404, "text/plain; charset=utf-8", "404 page not found\n");
    }
    let mut answer = json_answer(failure.code, &failure.to_status());
    if failure.code == 429 {
        answer
            .headers_mut()
            .insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    answer
}

fn json_answer(code: u16, value: &Value) -> Answer {
    bytes_answer(code, "application/json", value.to_string())
}

fn bytes_answer(code: u16, content_type: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(AnswerBody::whole(body.into()));
    *answer.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    answer
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}

async fn handle(cluster: &Cluster, address: &str, request: Request<Incoming>) -> Result<Answer, Failure> {
    let (parts, body) = request.into_parts();
    let route = Route::parse(parts.uri.path()).ok_or_else(Failure::no_such_path)?;
    if let Route::Health = route {
        return Ok(bytes_answer(200, "text/plain; charset=utf-8", "ok"));
    }
    if let Route::Version = route {
        return Ok(json_answer(200, &discovery::version()));
    }
    let caller = caller(cluster, &parts.uri, &parts.headers)?;
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let body = Limited::new(body, BODY_LIMIT)
        .collect()
        .await
        .map_err(|error| Failure::bad_request(format!("the body of the request cannot be read: {error}")))?
        .to_bytes();
    let request = Asked {
        cluster,
        caller,
        method: parts.method,
        headers: parts.headers,
        query,
        body,
    };
    match route {
        Route::Object(path) => request.object(&path).await,
        other => {
            if request.method != Method::GET {
                return Err(Failure::method_not_allowed());
            }
            request.about(&other, address)
        }
    }
}

/// Who asks: by bearer token, and for administrators as whom they like.
fn caller(cluster: &Cluster, uri: &Uri, headers: &HeaderMap) -> Result<Caller, Failure> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let identity = match text("authorization") {
        None if could_be_a_web_page(uri, headers) => Identity::anonymous(),
        None => cluster.without_token().unwrap_or_else(Identity::anonymous),
        Some(value) => value
            .strip_prefix("Bearer ")
            .and_then(|token| cluster.identity(token.trim()))
            .ok_or_else(Failure::unauthorized)?,
    };
    let identity = match text("impersonate-user") {
        None => identity,
        Some(user) if identity.is_in(MASTERS) => Identity {
            user: user.to_owned(),
            groups: headers
                .get_all("impersonate-group")
                .iter()
                .filter_map(|group| group.to_str().ok())
                .map(str::to_owned)
                .collect(),
        },
        Some(user) => {
            let why = format!("User \"{}\" cannot impersonate resource \"users\"", identity.user);
            return Err(Failure::forbidden("users", user, &why));
        }
    };
    let agent = text("user-agent")
        .and_then(|agent| agent.split('/').next())
        .filter(|agent| !agent.is_empty())
        .unwrap_or("unknown");
    Ok(Caller {
        identity,
        agent: agent.chars().take(128).collect(),
    })
}

/// Browsers say where a page is from, and pages that pretend to be local are found by the host they ask for.
fn could_be_a_web_page(uri: &Uri, headers: &HeaderMap) -> bool {
    let is_local = |host: &str| {
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        ["127.0.0.1", "[::1]", "localhost"].contains(&name)
    };
    let mut hosts = headers.get_all(header::HOST).iter();
    let local = match (hosts.next().and_then(|host| host.to_str().ok()), hosts.next()) {
        (Some(host), None) => is_local(host) && uri.authority().is_none_or(|authority| is_local(authority.as_str())),
        _ => false,
    };
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    let foreign = site.is_some_and(|site| site != b"none" && site != b"same-origin");
    !local || foreign || headers.contains_key(header::ORIGIN)
}

/// A request that was read.
struct Asked<'a> {
    cluster: &'a Cluster,
    caller: Caller,
    method: Method,
    headers: HeaderMap,
    query: Query,
    body: Bytes,
}

impl Asked<'_> {
    fn header(&self, name: header::HeaderName) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// Discovery and descriptions.
    fn about(&self, route: &Route, address: &str) -> Result<Answer, Failure> {
        if self.caller.identity == Identity::anonymous() {
            return Err(Failure::unauthorized());
        }
        let registry = self.cluster.registry();
        let accept = self.header(header::ACCEPT);
        let aggregated = accept.contains("as=APIGroupDiscoveryList") && accept.contains("v=v2");
        let whole = |core: bool| {
            bytes_answer(
                200,
                "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
                discovery::aggregated(&registry, core).to_string(),
            )
        };
        let found = match route {
            Route::Core if aggregated => return Ok(whole(true)),
            Route::Groups if aggregated => return Ok(whole(false)),
            Route::Core => Some(discovery::core_versions(address)),
            Route::Groups => Some(discovery::group_list(&registry)),
            Route::Group(group) => discovery::one_group(&registry, group),
            Route::Resources { group, version } => discovery::resource_list(&registry, group, version),
            Route::OpenApiKinds if accept.contains(openapi::PROTOBUF) => {
                let body = openapi::kinds_in_protobuf(&registry);
                return Ok(bytes_answer(200, openapi::PROTOBUF_ANSWER, body));
            }
            Route::OpenApiKinds => Some(openapi::kinds(&registry)),
            Route::OpenApiIndex => Some(openapi::index(&registry)),
            Route::OpenApi(path) => {
                let (group, version) = openapi::parse_path(path).ok_or_else(Failure::no_such_path)?;
                openapi::document(&registry, &group, &version)
            }
            Route::Root => Some(json!({"paths": [
                "/api", "/api/v1", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version",
            ]})),
            Route::Health | Route::Version | Route::Object(_) => None,
        };
        found
            .map(|value| json_answer(200, &value))
            .ok_or_else(Failure::no_such_path)
    }

    /// One object or a collection.
    async fn object(&self, path: &ObjectPath) -> Result<Answer, Failure> {
        if let Some(answer) = self.review(path)? {
            return Ok(answer);
        }
        let hit = self.cluster.find(&path.group, &path.version, &path.plural)?;
        let below_namespace = !path.namespace.is_empty();
        if below_namespace && !hit.resource.namespaced {
            return Err(Failure::no_such_path());
        }
        self.authorize(&hit, path)?;
        let answer = if path.name.is_empty() {
            self.collection(&hit, path).await
        } else if hit.resource.namespaced && !below_namespace {
            Err(Failure::no_such_path())
        } else {
            self.one(&hit, path).await
        }?;
        if self.method != Method::GET {
            self.cluster.flushed().await?;
        }
        Ok(answer)
    }

    fn review(&self, path: &ObjectPath) -> Result<Option<Answer>, Failure> {
        let known = discovery::REVIEWS
            .iter()
            .any(|(group, plural, ..)| *group == path.group && *plural == path.plural);
        if !known || path.version != "v1" {
            return Ok(None);
        }
        if self.method != Method::POST {
            return Err(Failure::method_not_allowed());
        }
        let attempt = Attempt {
            verb: "create",
            group: &path.group,
            resource: &path.plural,
            subresource: "",
            namespace: &path.namespace,
            name: "",
        };
        authorize(&self.caller.identity, &attempt)?;
        let body = self.json_body()?;
        let answer = self.cluster.review(&path.group, &path.plural, &body, &self.caller);
        Ok(answer.map(|value| json_answer(201, &value)))
    }

    fn authorize(&self, hit: &Hit, path: &ObjectPath) -> Result<(), Failure> {
        let verb = match self.method {
            Method::GET if self.query.flag("watch") => "watch",
            Method::GET if path.name.is_empty() => "list",
            Method::GET => "get",
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::DELETE if path.name.is_empty() => "deletecollection",
            Method::DELETE => "delete",
            _ => return Err(Failure::method_not_allowed()),
        };
        let mut attempt = Attempt::new(verb, &hit.resource, &path.namespace, &path.name);
        attempt.subresource = &path.subresource;
        authorize(&self.caller.identity, &attempt)?;
        let identity = &self.caller.identity;
        if identity.node().is_some() && ["secrets", "configmaps"].contains(&hit.resource.plural.as_str()) {
            self.cluster.check_related(identity, &attempt)?;
        }
        // The Node authorizer lets a kubelet read its own Node alone.
        let field = self.query.text("fieldSelector");
        let name = if path.name.is_empty() {
            field.strip_prefix("metadata.name=").unwrap_or_default()
        } else {
            &path.name
        };
        if self.method == Method::GET && !may_touch(identity, hit, name) {
            let (own, other) = (identity.node().unwrap_or_default(), name);
            let other = if other.is_empty() {
                "all nodes".to_owned()
            } else {
                format!("'{other}'")
            };
            let why = format!("node '{own}' cannot read {other}, only its own Node object");
            return Err(refused(identity, &attempt, &why));
        }
        Ok(())
    }

    async fn collection(&self, hit: &Hit, path: &ObjectPath) -> Result<Answer, Failure> {
        let namespace = (!path.namespace.is_empty()).then_some(path.namespace.as_str());
        match self.method {
            Method::GET if self.query.flag("watch") => {
                let form = self.form()?;
                let watcher = self.cluster.watch(hit, namespace, &self.query.watch_options()?)?;
                Ok(watching::answer(
                    watcher,
                    hit.clone(),
                    form,
                    self.query.row_object(),
                    self.cluster.clone(),
                ))
            }
            Method::GET => {
                let form = self.form()?;
                let list = self.cluster.list(hit, namespace, &self.query.list_options()?)?;
                let mut metadata = json!({"resourceVersion": list.revision.to_string()});
                if let Some(next) = &list.next {
                    metadata["continue"] = json!(next);
                }
                if let Some(remaining) = list.remaining {
                    metadata["remainingItemCount"] = json!(remaining);
                }
                let items = list.items.iter().map(AsRef::as_ref);
                Ok(match form {
                    Form::Table => json_answer(
                        200,
                        &table(
                            &hit.version().columns,
                            items,
                            &metadata,
                            self.query.row_object(),
                            self.cluster.now(),
                        ),
                    ),
                    Form::Metadata => json_answer(
                        200,
                        &json!({
                            "kind": "PartialObjectMetadataList",
                            "apiVersion": "meta.k8s.io/v1",
                            "metadata": metadata,
                            "items": items.map(accept::metadata_of).collect::<Vec<_>>(),
                        }),
                    ),
                    Form::Whole => bytes_answer(
                        200,
                        "application/json",
                        list_text(&hit.resource.list_kind, &hit.api_version(), &metadata, &list.items),
                    ),
                })
            }
            Method::POST => {
                if hit.resource.namespaced && path.namespace.is_empty() {
                    return Err(Failure::method_not_allowed());
                }
                let written = self
                    .cluster
                    .create(
                        hit,
                        &path.namespace,
                        self.json_body()?,
                        &self.query.write_options()?,
                        &self.caller,
                    )
                    .await?;
                self.shown(hit, 201, &written.object, &written.warnings)
            }
            Method::DELETE => {
                let options = self.query.delete_options(&self.optional_body()?)?;
                let list = self.query.list_options()?;
                let items = self
                    .cluster
                    .delete_collection(hit, namespace, &list, &options, &self.caller)
                    .await?;
                let metadata = json!({"resourceVersion": self.cluster.revision().to_string()});
                let text = list_text(&hit.resource.list_kind, &hit.api_version(), &metadata, &items);
                Ok(bytes_answer(200, "application/json", text))
            }
            _ => Err(Failure::method_not_allowed()),
        }
    }

    async fn one(&self, hit: &Hit, path: &ObjectPath) -> Result<Answer, Failure> {
        let place = Place::new(&*path.namespace, &*path.name);
        let subresource = path.subresource.as_str();
        let known = subresource.is_empty()
            || (subresource == "status" && hit.version().status)
            || hit.resource.subresources.iter().any(|(name, ..)| *name == subresource);
        if !known && !hit.resource.builtin {
            return Err(Failure::not_found(&hit.resource.full_name(), &path.name));
        }
        if !known {
            return Err(Failure::no_such_path());
        }
        let target = Target {
            hit,
            place: &place,
            subresource,
        };
        match (&self.method, subresource) {
            (&Method::POST, "eviction") => self.evict(hit, &place).await,
            (&Method::POST, "binding") => self.bind(hit, &place).await,
            (_, "eviction" | "binding") => Err(Failure::method_not_allowed()),
            (&Method::GET, _) if self.query.flag("watch") => {
                let form = self.form()?;
                let mut options = self.query.watch_options()?;
                options.fields = format!("metadata.name={}", place.name);
                let namespace = hit.resource.namespaced.then_some(place.namespace.as_str());
                let watcher = self.cluster.watch(hit, namespace, &options)?;
                Ok(watching::answer(
                    watcher,
                    hit.clone(),
                    form,
                    self.query.row_object(),
                    self.cluster.clone(),
                ))
            }
            (&Method::GET, _) => {
                let object = self.cluster.get(hit, &place)?;
                self.shown(hit, 200, &object, &[])
            }
            (&Method::PUT, _) => {
                let options = self.query.write_options()?;
                let written = self
                    .cluster
                    .update(target, self.json_body()?, &options, &self.caller)
                    .await?;
                let code = if written.created { 201 } else { 200 };
                self.shown(hit, code, &written.object, &written.warnings)
            }
            (&Method::PATCH, _) => {
                let content_type = self.header(header::CONTENT_TYPE);
                let Some(kind) = PatchKind::from_content_type(content_type) else {
                    return Err(Failure::unknown_patch());
                };
                let options = self.query.write_options()?;
                let written = self
                    .cluster
                    .patch(target, kind, &self.json_body()?, &options, &self.caller)
                    .await?;
                let code = if written.created { 201 } else { 200 };
                self.shown(hit, code, &written.object, &written.warnings)
            }
            (&Method::DELETE, "") => {
                let options = self.query.delete_options(&self.optional_body()?)?;
                match self.cluster.delete(hit, &place, &options, &self.caller).await? {
                    Deleted::Terminating(object) => self.shown(hit, 200, &object, &[]),
                    Deleted::Gone(object) if hit.resource.kind == "Pod" => self.shown(hit, 200, &object, &[]),
                    Deleted::Gone(object) => {
                        let mut details = json!({
                            "name": place.name,
                            "kind": hit.resource.plural,
                            "uid": text(&object, &["metadata", "uid"]),
                        });
                        if !hit.resource.group.is_empty() {
                            details["group"] = json!(hit.resource.group);
                        }
                        Ok(json_answer(200, &success(Some(details))))
                    }
                }
            }
            _ => Err(Failure::method_not_allowed()),
        }
    }

    async fn evict(&self, hit: &Hit, place: &Place) -> Result<Answer, Failure> {
        let body = self.json_body()?;
        let options = body.get("deleteOptions").cloned().unwrap_or_else(|| json!({}));
        let options = self.query.delete_options(&options)?;
        self.cluster.evict(hit, place, &options, &self.caller).await?;
        Ok(json_answer(201, &success(None)))
    }

    async fn bind(&self, hit: &Hit, place: &Place) -> Result<Answer, Failure> {
        let body = self.json_body()?;
        let node = text(&body, &["target", "name"]);
        self.cluster.bind(hit, place, node, &self.caller).await?;
        Ok(json_answer(201, &success(None)))
    }

    fn form(&self) -> Result<Form, Failure> {
        Form::choose(self.header(header::ACCEPT))
    }

    fn shown(&self, hit: &Hit, code: u16, object: &Arc<Value>, warnings: &[String]) -> Result<Answer, Failure> {
        let mut answer = match self.form()? {
            Form::Whole => json_answer(code, object),
            Form::Metadata => json_answer(code, &accept::metadata_of(object)),
            Form::Table => {
                let metadata = json!({"resourceVersion": text(object, &["metadata", "resourceVersion"])});
                let objects = [&**object];
                let rows = table(
                    &hit.version().columns,
                    objects,
                    &metadata,
                    self.query.row_object(),
                    self.cluster.now(),
                );
                json_answer(code, &rows)
            }
        };
        for warning in warnings {
            let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
            if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
                answer.headers_mut().append(header::WARNING, value);
            }
        }
        Ok(answer)
    }

    fn json_body(&self) -> Result<Value, Failure> {
        body::parse(&self.body)
    }

    fn optional_body(&self) -> Result<Value, Failure> {
        if self.body.is_empty() {
            Ok(json!({}))
        } else {
            self.json_body()
        }
    }
}

fn success(details: Option<Value>) -> Value {
    let mut status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"});
    match details {
        Some(details) => status["details"] = details,
        None => status["code"] = json!(201),
    }
    status
}

/// A list as text, without copying its objects.
fn list_text(kind: &str, api_version: &str, metadata: &Value, items: &[Arc<Value>]) -> String {
    let mut text = format!(
        r#"{{"kind":{},"apiVersion":{},"metadata":{metadata},"items":["#,
        json!(kind),
        json!(api_version)
    );
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        text.push_str(&item.to_string());
    }
    text.push_str("]}");
    text
}
