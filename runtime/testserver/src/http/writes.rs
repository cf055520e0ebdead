//! Writes on their way from the request through the admission chain into the store.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::access::{self, accounts, escalation};
use crate::admission::{self, Attempt, Operation};
use crate::cluster::Place;
use crate::http::requests::Call;
use crate::http::{Api, lock};
use crate::objects::delete_options::DeleteOptions;
use crate::objects::deletion::Deleted;
use crate::objects::identity::{check_identity, check_name, storage_key};
use crate::objects::patching::Patch;
use crate::objects::scale::{self, Scaled};
use crate::objects::writing::{Draft, How, Scope, check_readable, metadata_of};
use crate::status::{Cause, Status};

/// How often a write is begun anew because its object has changed meanwhile, as in the real server.
const ATTEMPTS: usize = 5;

/// The object as it is now stored, and whether it was created.
type Written = (bool, Arc<Value>);

impl Api {
    pub(super) async fn create(&self, call: &Call, place: &Place) -> Result<Arc<Value>, Status> {
        let how = how(call, Scope::Main, "CreateOptions", Vec::new())?;
        let draft = lock(&self.cluster).draft_new(place, call.object(place)?, how)?;
        let created = self.admit(call, draft).await?;
        // Nothing was there to change meanwhile.
        created.ok_or_else(|| Status::of_code(409))
    }

    pub(super) async fn replace(
        &self,
        call: &Call,
        place: &Place,
        name: &str,
        scope: Scope,
    ) -> Result<Written, Status> {
        let how = how(call, scope, "UpdateOptions", Vec::new())?;
        let mut object = call.object(place)?;
        check_identity(place, &mut object)?;
        check_readable(place, &object)?;
        check_name(name, &object["metadata"]["name"])?;
        if self.is_missing(place, name) {
            check_uid(place, name, &object, &Value::Null)?;
            if place.kind.traits.created_by_update {
                // There is nothing that it could be the version of.
                metadata_of(&mut object).remove("resourceVersion");
                let draft = lock(&self.cluster).draft_new(place, object, how)?;
                let created = self.admit(call, draft).await?;
                return Ok((true, created.ok_or_else(|| Status::of_code(409))?));
            }
        }
        self.change(call, place, name, how, |current| {
            check_uid(place, name, &object, current)?;
            Ok(object.clone())
        })
        .await
    }

    pub(super) async fn patch(
        &self,
        call: &Call,
        place: &Place,
        name: &str,
        scope: Scope,
        patch: &Patch,
    ) -> Result<Written, Status> {
        let faults = patch.check_options(call.query.get("fieldManager"), !call.query.get("force").is_empty());
        let mut how = how(call, scope, "PatchOptions", faults)?;
        how.applies = patch.is_applied();
        if how.applies && scope == Scope::Main && self.is_missing(place, name) {
            let object = patch.create(place, name, &how)?;
            let draft = lock(&self.cluster).draft_new(place, object, how.clone())?;
            match self.admit(call, draft).await {
                // Somebody else was quicker.
                Err(status) if status.reason == "AlreadyExists" => {}
                created => return Ok((true, created?.ok_or_else(|| Status::of_code(409))?)),
            }
        }
        let applied = how.clone();
        self.change(call, place, name, how, |current| patch.apply(current, place, &applied))
            .await
    }

    fn is_missing(&self, place: &Place, name: &str) -> bool {
        let cluster = lock(&self.cluster);
        cluster.store.get(&place.kind.key(), &place.namespace, name).is_none()
    }

    pub(super) async fn change(
        &self,
        call: &Call,
        place: &Place,
        name: &str,
        how: How,
        make: impl Fn(&Value) -> Result<Value, Status>,
    ) -> Result<Written, Status> {
        for _ in 0..ATTEMPTS {
            let draft = lock(&self.cluster).draft_change(place, name, how.clone(), &make)?;
            if let Some(object) = self.admit(call, draft).await? {
                return Ok((false, object));
            }
        }
        Err(Status::conflict(
            &place.kind,
            name,
            "the object kept changing while it was admitted",
        ))
    }

    /// Takes a draft through the admission chain and stores it; nothing if its object has changed meanwhile.
    async fn admit(&self, call: &Call, mut draft: Draft) -> Result<Option<Arc<Value>>, Status> {
        let (place, current, how) = (draft.place.clone(), draft.current.clone(), draft.how.clone());
        // Patches come as updates too.
        let (operation, options) = match current {
            None => (Operation::Create, "CreateOptions"),
            Some(_) => (Operation::Update, "UpdateOptions"),
        };
        let mut options = json!({"kind": options, "apiVersion": "meta.k8s.io/v1"});
        if how.dry_run {
            options["dryRun"] = json!(["All"]);
        }
        for option in ["fieldManager", "fieldValidation"] {
            if !call.query.get(option).is_empty() {
                options[option] = json!(call.query.get(option));
            }
        }
        let name = draft.name.clone();
        // A scale is admitted as what it is, not as the object that has it.
        let paths = place.version()?.scale.as_ref().filter(|_| how.scope == Scope::Scale);
        let shown = |object: &Value| paths.and_then(|paths| Some(Scaled::of(object, paths).ok()?.scale));
        let old = current.as_deref().and_then(shown);
        let attempt = Attempt {
            operation,
            place: &place,
            name: &name,
            subresource: how.scope.subresource(),
            old: old.as_ref().or(current.as_deref()),
            options: &options,
            dry_run: how.dry_run,
            user: &call.user,
            warnings: &call.warnings,
        };
        accounts::admit_pod(&mut lock(&self.cluster), &mut draft)?;
        match (shown(&draft.object), paths) {
            (Some(mut scale), Some(paths)) => {
                admission::mutate(&self.cluster, &attempt, &mut scale).await?;
                draft.object = scale::write(&draft.object, &scale, paths)?;
            }
            _ => admission::mutate(&self.cluster, &attempt, &mut draft.object).await?,
        }
        escalation::check(&lock(&self.cluster), &call.user, &draft)?;
        lock(&self.cluster).check(&mut draft)?;
        if current.is_none() && call.method != http::Method::POST {
            access::authorize_creation(&lock(&self.cluster), &call.user, &place, &name)?;
        }
        let attempt = Attempt {
            // It may have been generated meanwhile; giving it another name does not change the request.
            name: if name.is_empty() { &draft.name } else { &name },
            ..attempt
        };
        let scale = shown(&draft.object);
        admission::validate(&self.cluster, &attempt, scale.as_ref().unwrap_or(&draft.object)).await?;
        for warning in &draft.warnings {
            call.warnings.add(warning);
        }
        lock(&self.cluster).commit(draft)
    }

    /// Deletes an object that the request names, or that is in the collection which it names.
    pub(super) async fn delete(
        &self,
        call: &Call,
        place: &Place,
        (name, in_collection): (&str, bool),
        options: &Value,
    ) -> Result<Deleted, Status> {
        let chosen = DeleteOptions::parse(options)?;
        let stored = lock(&self.cluster)
            .store
            .get(&place.kind.key(), &place.namespace, name)
            .cloned();
        let current = place.present(&stored.ok_or_else(|| Status::not_found(&place.kind, name))?);
        let attempt = Attempt {
            operation: Operation::Delete,
            place,
            name: if in_collection { "" } else { name },
            subresource: "",
            old: Some(&current),
            options,
            dry_run: chosen.dry_run,
            user: &call.user,
            warnings: &call.warnings,
        };
        admission::mutate(&self.cluster, &attempt, &mut Value::Null).await?;
        admission::validate(&self.cluster, &attempt, &Value::Null).await?;
        lock(&self.cluster).delete(place, name, &chosen)
    }
}

/// How a request wants to write, if its options hold; the faults are those found already.
pub(super) fn how(call: &Call, scope: Scope, options: &str, faults: Vec<Cause>) -> Result<How, Status> {
    call.how(scope, faults)
        .map_err(|faults| Status::invalid_options(options, &faults))
}

/// Of a replaced object the identity is a precondition; in a patch it is just an immutable field.
fn check_uid(place: &Place, name: &str, object: &Value, current: &Value) -> Result<(), Status> {
    let uid = |object: &Value| object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    let (wanted, found) = (uid(object), uid(current));
    if wanted.is_empty() || wanted == found {
        return Ok(());
    }
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: \
         UID in precondition: {wanted}, UID in object meta: {found}",
        storage_key(place, name)
    );
    Err(Status::conflict(&place.kind, name, &why))
}
