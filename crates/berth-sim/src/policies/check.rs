//! What is wrong with policies and bindings themselves.

use berth_cel::Program;
use serde_json::{Value, json};

use crate::{
    failure::Cause,
    object::{at, items, text},
};

const OPERATIONS_OF_MUTATIONS: [&str; 2] = ["CREATE", "UPDATE"];
const REASONS: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
const ACTIONS: [&str; 3] = ["Audit", "Deny", "Warn"];

/// Names that expressions of a policy know.
fn names(policy: &Value, more: &[&'static str]) -> Vec<&'static str> {
    let mut names = vec!["object", "oldObject", "request", "namespaceObject", "authorizer"];
    if at(policy, &["spec", "paramKind"]).is_some() {
        names.push("params");
    }
    names.extend(more);
    names
}

fn compile(path: &str, text: &str, names: &[&str], causes: &mut Vec<Cause>) {
    if let Err(error) = Program::compile(text, names) {
        causes.push(Cause::invalid(
            path,
            &json!(text),
            &format!("compilation failed: {error}"),
        ));
    }
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
            compile(
                &format!("{path}.expression"),
                expression,
                &names(policy, &[]),
                &mut causes,
            );
        }
        if text(condition, &["name"]).is_empty() {
            causes.push(Cause::required(format!("{path}.name"), ""));
        }
    }
    let with_variables: &[&'static str] = if mutating || items(policy, &["spec", "variables"]).next().is_some() {
        &["variables"]
    } else {
        &[]
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
        if expression.trim().is_empty() {
            causes.push(Cause::required(
                format!("{path}.expression"),
                "expression is not specified",
            ));
        } else {
            let names = names(policy, with_variables);
            compile(&format!("{path}.expression"), expression, &names, &mut causes);
        }
    }
    if mutating {
        check_mutations(policy, &mut causes);
    } else {
        check_validations(policy, &names(policy, with_variables), &mut causes);
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

fn check_validations(policy: &Value, names: &[&str], causes: &mut Vec<Cause>) {
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
            compile(&format!("{path}.expression"), expression, names, causes);
        }
        let made = text(validation, &["messageExpression"]);
        if !made.is_empty() && made.trim().is_empty() {
            let field = format!("{path}.messageExpression");
            causes.push(Cause::invalid(field, &json!(made), "must be non-empty if specified"));
        } else if !made.is_empty() {
            compile(&format!("{path}.messageExpression"), made, names, causes);
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

fn check_mutations(policy: &Value, causes: &mut Vec<Cause>) {
    if items(policy, &["spec", "mutations"]).next().is_none() {
        causes.push(Cause::required(
            "spec.mutations",
            "mutations must contain at least one item",
        ));
    }
    let names = names(policy, &["variables", "Object", "JSONPatch"]);
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
                    compile(&format!("{path}.{key}.expression"), expression, &names, causes);
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
