//! Memos: what users keep in memory about an operator, and about each object (M-1, M-4).
//!
//! Nothing in here looks into them (M-6).

use std::any::{Any, TypeId, type_name};
use std::fmt;
use std::sync::Arc;

/// A memo without its type.
pub(crate) type Memo = Arc<dyn Any + Send + Sync>;

/// The operator's memo, with what is to be said of its type.
#[derive(Clone)]
pub(crate) struct OperatorMemo {
    pub(crate) memo: Memo,
    type_name: &'static str,
}

impl OperatorMemo {
    pub(crate) fn new<O: Send + Sync + 'static>(value: O) -> Self {
        Self {
            memo: Arc::new(value),
            type_name: type_name::<O>(),
        }
    }
}

/// How the memos of a kind's objects come to be.
#[derive(Clone)]
pub(crate) struct Memos {
    /// The type of the operator's memo that they are derived from, and its name.
    origin: Option<(TypeId, &'static str)>,
    derive: Arc<dyn Fn(&Memo) -> Memo + Send + Sync>,
}

impl Memos {
    /// Each object begins with a default one.
    pub(crate) fn fresh<M: Default + Send + Sync + 'static>() -> Self {
        let derive: Arc<dyn Fn(&Memo) -> Memo + Send + Sync> = if TypeId::of::<M>() == TypeId::of::<()>() {
            // What holds nothing can be everybody's: no object pays for it.
            let nothing: Memo = Arc::new(());
            Arc::new(move |_| Arc::clone(&nothing))
        } else {
            Arc::new(|_| Arc::new(M::default()))
        };
        Self { origin: None, derive }
    }

    /// Each object's is made from the operator's.
    pub(crate) fn derived<O, M>(derive: impl Fn(&Arc<O>) -> Arc<M> + Send + Sync + 'static) -> Self
    where
        O: Send + Sync + 'static,
        M: Send + Sync + 'static,
    {
        let derive = move |operator: &Memo| -> Memo {
            let operator = Arc::clone(operator).downcast::<O>();
            derive(&operator.expect("the type of the operator's memo was checked at the start"))
        };
        Self {
            origin: Some((TypeId::of::<O>(), type_name::<O>())),
            derive: Arc::new(derive),
        }
    }

    /// Refuses an operator's memo of another type.
    pub(crate) fn check(&self, operator: &OperatorMemo) -> Result<(), String> {
        match self.origin {
            Some((id, name)) if id != (*operator.memo).type_id() => Err(format!(
                "its memos are made from an operator's memo of the type `{name}`, but the operator has one of the type \
                 `{}`; give it the right one with `Operator::memo`",
                operator.type_name
            )),
            _ => Ok(()),
        }
    }

    /// The memo of a new object.
    pub(crate) fn derive(&self, operator: &Memo) -> Memo {
        (self.derive)(operator)
    }
}

impl fmt::Debug for Memos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memos")
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    // M-5
    #[test]
    fn memos_are_fresh_derived_or_shared() {
        let operator = OperatorMemo::new(Mutex::new(7));
        let fresh = Memos::fresh::<Mutex<i32>>();
        let (first, second) = (fresh.derive(&operator.memo), fresh.derive(&operator.memo));
        assert!(!Arc::ptr_eq(&first, &second), "each object has its own");
        let derived = Memos::derived::<Mutex<i32>, String>(|memo| Arc::new(memo.lock().unwrap().to_string()));
        assert_eq!(*derived.derive(&operator.memo).downcast::<String>().unwrap(), "7");
        let shared = Memos::derived::<Mutex<i32>, Mutex<i32>>(Arc::clone);
        assert!(Arc::ptr_eq(&shared.derive(&operator.memo), &operator.memo));
        for memos in [fresh, derived, shared] {
            assert_eq!(memos.check(&operator), Ok(()));
        }
    }

    #[test]
    fn nothing_costs_nothing() {
        let operator = OperatorMemo::new(());
        let memos = Memos::fresh::<()>();
        assert!(Arc::ptr_eq(
            &memos.derive(&operator.memo),
            &memos.derive(&operator.memo)
        ));
    }

    #[test]
    fn an_operators_memo_of_another_type_is_refused_with_both_names() {
        let memos = Memos::derived::<Mutex<i32>, Mutex<i32>>(Arc::clone);
        let message = memos.check(&OperatorMemo::new(5_u8)).unwrap_err();
        assert!(message.contains("Mutex<i32>`") && message.contains("`u8`"), "{message}");
    }
}
