//! What is wrong with policies and bindings themselves.

use berth_cel::{Program, Type};
use serde_json::{Value, json};

use crate::{
    failure::Cause,
    object::{at, items, text},
};

const OPERATIONS_OF_MUTATIONS: [&str; 2] = ["CREATE", "UPDATE"];
const REASONS: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
const ACTIONS: [&str; 3] = ["Audit", "Deny", "Warn"];

type Names = Vec<(&'static str, Type)>;

/// Names that expressions of a policy know.
fn names(policy: &Value) -> Names {
    let mut names = vec![
        ("object", Type::Dyn),
        ("oldObject", Type::Dyn),
        ("request", request()),
        ("namespaceObject", Type::Dyn),
        ("authorizer", Type::Dyn),
    ];
    if at(policy, &["spec", "paramKind"]).is_some() {
        names.push(("params", Type::Dyn));
    }
    names
}

/// What can be asked of a request.
fn request() -> Type {
    let texts =
        |keys: &[&str]| -> Vec<(String, Type)> { keys.iter().map(|key| ((*key).to_owned(), Type::Text)).collect() };
    let kind = Type::object("kubernetes.GroupVersionKind", texts(&["group", "version", "kind"]));
    let resource = Type::object(
        "kubernetes.GroupVersionResource",
        texts(&["group", "version", "resource"]),
    );
    let mut user = texts(&["username", "uid"]);
    user.push(("groups".to_owned(), Type::list(Type::Text)));
    user.push(("extra".to_owned(), Type::map(Type::list(Type::Text))));
    let mut fields = texts(&["subResource", "requestSubResource", "name", "namespace", "operation"]);
    fields.extend([
        ("kind".to_owned(), kind.clone()),
        ("requestKind".to_owned(), kind),
        ("resource".to_owned(), resource.clone()),
        ("requestResource".to_owned(), resource),
        ("userInfo".to_owned(), Type::object("kubernetes.UserInfo", user)),
        ("dryRun".to_owned(), Type::Bool),
        ("options".to_owned(), Type::Dyn),
    ]);
    Type::object("kubernetes.AdmissionRequest", fields)
}

/// The type of an expression, which must be the one that is wanted if one is.
fn compile(
    path: &str,
    text: &str,
    names: &[(&'static str, Type)],
    wanted: Option<&Type>,
    causes: &mut Vec<Cause>,
) -> Type {
    let program = match Program::compile_typed(text, names) {
        Ok(program) => program,
        Err(error) => {
            causes.push(Cause::invalid(
                path,
                &json!(text),
                &format!("compilation failed: {error}"),
            ));
            return Type::Dyn;
        }
    };
    let found = program.result();
    // A part of an object has no type that is known; of other expressions it may be known to others.
    let vague = *found == Type::Dyn && !["object", "oldObject", "params"].contains(&program.root().unwrap_or_default());
    if let Some(wanted) = wanted
        && found != wanted
        && !vague
    {
        let why = format!("must evaluate to {wanted} but got {found}");
        causes.push(Cause::invalid(path, &json!(text), &why));
    }
    found.clone()
}

/// What is wrong with an object of the kinds that this is about.
pub(crate) fn check(kind: &str, object: &Value) -> Vec<Cause> {
    match kind {
        "ValidatingAdmissionPolicy" => check_policy(object, false),
        "MutatingAdmissionPolicy" => check_policy(object, true),
        "ValidatingAdmissionPolicyBinding" => check_binding(object, false),
        "MutatingAdmissionPolicyBinding" => check_binding(object, true),
        _ => Vec::new(),
    }
}

/// What is wrong with a policy.
fn check_policy(policy: &Value, mutating: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    if let Some(kind) = at(policy, &["spec", "paramKind"]) {
        if text(kind, &["apiVersion"]).is_empty() {
            causes.push(Cause::required("spec.paramKind.apiVersion", ""));
        }
        if text(kind, &["kind"]).is_empty() {
            causes.push(Cause::required("spec.paramKind.kind", ""));
        }
    }
    match at(policy, &["spec", "matchConstraints"]) {
        None => causes.push(Cause::required("spec.matchConstraints", "")),
        Some(constraints) => {
            if items(constraints, &["resourceRules"]).next().is_none() {
                causes.push(Cause::required("spec.matchConstraints.resourceRules", ""));
            }
            if mutating {
                check_operations(constraints, "spec.matchConstraints", &mut causes);
            }
        }
    }
    for (index, condition) in items(policy, &["spec", "matchConditions"]).enumerate() {
        let path = format!("spec.matchConditions[{index}]");
        let expression = text(condition, &["expression"]).trim();
        if expression.is_empty() {
            causes.push(Cause::required(format!("{path}.expression"), ""));
        } else {
            let field = format!("{path}.expression");
            compile(&field, expression, &names(policy), Some(&Type::Bool), &mut causes);
        }
        if text(condition, &["name"]).is_empty() {
            causes.push(Cause::required(format!("{path}.name"), ""));
        }
    }
    let mut known = names(policy);
    let mut variables: Vec<(String, Type)> = Vec::new();
    let all_known = |variables: &[(String, Type)]| {
        let mut known = names(policy);
        known.push((
            "variables",
            Type::object("kubernetes.variables", variables.iter().cloned()),
        ));
        known
    };
    for (index, variable) in items(policy, &["spec", "variables"]).enumerate() {
        let path = format!("spec.variables[{index}]");
        let (name, expression) = (text(variable, &["name"]), text(variable, &["expression"]));
        if name.trim().is_empty() {
            causes.push(Cause::required(format!("{path}.name"), "name is not specified"));
        } else if !is_name(name) {
            let given = json!(name);
            causes.push(Cause::invalid(
                format!("{path}.name"),
                &given,
                "must be a valid CEL identifier",
            ));
        }
        let found = if expression.trim().is_empty() {
            causes.push(Cause::required(
                format!("{path}.expression"),
                "expression is not specified",
            ));
            Type::Dyn
        } else {
            let field = format!("{path}.expression");
            compile(&field, expression, &all_known(&variables), None, &mut causes)
        };
        variables.push((name.to_owned(), found));
    }
    if mutating || !variables.is_empty() {
        known = all_known(&variables);
    }
    if mutating {
        check_mutations(policy, known, &mut causes);
    } else {
        check_validations(policy, &known, &mut causes);
    }
    causes
}

fn check_operations(resources: &Value, path: &str, causes: &mut Vec<Cause>) {
    for rule in items(resources, &["resourceRules"]) {
        for operation in items(rule, &["operations"]) {
            if !OPERATIONS_OF_MUTATIONS.contains(&operation.as_str().unwrap_or_default()) {
                causes.push(Cause::unsupported(
                    format!("{path}.resourceRules.operations"),
                    operation,
                    &OPERATIONS_OF_MUTATIONS.map(Value::from),
                ));
            }
        }
    }
}

fn is_name(name: &str) -> bool {
    // A name that is read as itself, and as nothing more.
    !name.starts_with(|first: char| first.is_ascii_digit())
        && name
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || character == '_')
        && Program::compile(name, &[name]).is_ok()
        && !["true", "false", "null"].contains(&name)
}

fn check_validations(policy: &Value, names: &[(&'static str, Type)], causes: &mut Vec<Cause>) {
    let none = |key: &str| items(policy, &["spec", key]).next().is_none();
    if none("validations") && none("auditAnnotations") {
        for key in ["validations", "auditAnnotations"] {
            let why = "validations or auditAnnotations must contain at least one item";
            causes.push(Cause::required(format!("spec.{key}"), why));
        }
    }
    for (index, validation) in items(policy, &["spec", "validations"]).enumerate() {
        let path = format!("spec.validations[{index}]");
        let expression = text(validation, &["expression"]);
        if expression.trim().is_empty() {
            causes.push(Cause::required(
                format!("{path}.expression"),
                "expression is not specified",
            ));
        } else {
            let field = format!("{path}.expression");
            compile(&field, expression, names, Some(&Type::Bool), causes);
        }
        let made = text(validation, &["messageExpression"]);
        if !made.is_empty() && made.trim().is_empty() {
            let field = format!("{path}.messageExpression");
            causes.push(Cause::invalid(field, &json!(made), "must be non-empty if specified"));
        } else if !made.is_empty() {
            let field = format!("{path}.messageExpression");
            compile(&field, made, names, Some(&Type::Text), causes);
        }
        let message = text(validation, &["message"]);
        if !message.is_empty() && message.trim().is_empty() {
            let field = format!("{path}.message");
            causes.push(Cause::invalid(field, &json!(message), "must be non-empty if specified"));
        } else if message.trim().contains('\n') {
            let field = format!("{path}.message");
            causes.push(Cause::invalid(field, &json!(message), "must not contain line breaks"));
        }
        let reason = text(validation, &["reason"]);
        if !reason.is_empty() && !REASONS.contains(&reason) {
            causes.push(Cause::unsupported(
                format!("{path}.reason"),
                &json!(reason),
                &REASONS.map(Value::from),
            ));
        }
    }
}

fn check_mutations(policy: &Value, mut names: Names, causes: &mut Vec<Cause>) {
    if items(policy, &["spec", "mutations"]).next().is_none() {
        causes.push(Cause::required(
            "spec.mutations",
            "mutations must contain at least one item",
        ));
    }
    names.extend([("Object", Type::Dyn), ("JSONPatch", Type::Dyn)]);
    for (index, mutation) in items(policy, &["spec", "mutations"]).enumerate() {
        let path = format!("spec.mutations[{index}]");
        let key = match text(mutation, &["patchType"]) {
            "JSONPatch" => "jsonPatch",
            "ApplyConfiguration" => "applyConfiguration",
            "" => {
                causes.push(Cause::required(format!("{path}.patchType"), ""));
                continue;
            }
            other => {
                let known = [json!("ApplyConfiguration"), json!("JSONPatch")];
                causes.push(Cause::unsupported(format!("{path}.patchType"), &json!(other), &known));
                continue;
            }
        };
        let kind = text(mutation, &["patchType"]);
        match at(mutation, &[key]) {
            None => causes.push(Cause::required(
                format!("{path}.{key}"),
                &format!("must be specified when patchType is {kind}"),
            )),
            Some(change) => {
                let expression = text(change, &["expression"]).trim();
                if expression.is_empty() {
                    causes.push(Cause::required(format!("{path}.{key}.expression"), ""));
                } else {
                    compile(&format!("{path}.{key}.expression"), expression, &names, None, causes);
                }
            }
        }
    }
    if text(policy, &["spec", "reinvocationPolicy"]).is_empty() {
        causes.push(Cause::required("spec.reinvocationPolicy", ""));
    }
}

/// What is wrong with a binding.
fn check_binding(binding: &Value, mutating: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    if text(binding, &["spec", "policyName"]).is_empty() {
        causes.push(Cause::required("spec.policyName", ""));
    }
    if let Some(reference) = at(binding, &["spec", "paramRef"]) {
        let (named, selected) = (
            !text(reference, &["name"]).is_empty(),
            at(reference, &["selector"]).is_some(),
        );
        if named && selected {
            for key in ["name", "selector"] {
                let why = "name and selector are mutually exclusive";
                causes.push(Cause::forbidden(format!("spec.paramRef.{key}"), why));
            }
        }
        if !named && !selected {
            causes.push(Cause::required(
                "spec.paramRef",
                "one of name or selector must be specified",
            ));
        }
        if text(reference, &["parameterNotFoundAction"]).is_empty() {
            causes.push(Cause::required("spec.paramRef.parameterNotFoundAction", ""));
        }
    }
    if mutating {
        if let Some(resources) = at(binding, &["spec", "matchResources"]) {
            check_operations(resources, "spec.matchResources", &mut causes);
        }
        return causes;
    }
    let actions: Vec<&Value> = items(binding, &["spec", "validationActions"]).collect();
    for (index, action) in actions.iter().enumerate() {
        let path = format!("spec.validationActions[{index}]");
        if !ACTIONS.contains(&action.as_str().unwrap_or_default()) {
            causes.push(Cause::unsupported(path, action, &ACTIONS.map(Value::from)));
        } else if actions.iter().take(index).any(|earlier| earlier == action) {
            causes.push(Cause::duplicate(path, action));
        }
    }
    let has = |wanted: &str| actions.iter().any(|action| action.as_str() == Some(wanted));
    if has("Deny") && has("Warn") {
        let given = json!(actions);
        let why = "must not contain both Deny and Warn (repeating the same validation failure information in the API \
                   response and headers serves no purpose)";
        causes.push(Cause::invalid("spec.validationActions", &given, why));
    }
    if actions.is_empty() {
        causes.push(Cause::required(
            "spec.validationActions",
            "at least one validation action is required",
        ));
    }
    causes
}
