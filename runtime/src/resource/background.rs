//! Registration of daemons and timers.

use std::any::TypeId;
use std::future::Future;
use std::sync::Arc;

use serde::Serialize;

use super::Resource;
use crate::arguments::{Daemon, Timer};
use crate::configured::Reading;
use crate::intents::background::{BackgroundHandler, Schedule};
use crate::intents::invocation::BackgroundFn;
use crate::kind::{Kind, erase};
use crate::options::{Common, DaemonOptions, Life, TimerOptions};
use crate::structs::errors::HandlerResult;

impl<K: Kind> Resource<K> {
    /// Calls `handler` once for each object and expects it to go on for as long as the object is there (G-1). It has to
    /// look at `stopped`, and to return soon once that is set.
    ///
    /// When it returns, or fails for good, it is over for this object until the operator is restarted (G-6);
    /// [`DaemonOptions::restart`] says otherwise. After a temporary error it is called again (G-8).
    ///
    /// ```
    /// # use kopf_runtime::{Daemon, HandlerResult, Kind, Resource, secs};
    /// async fn watch_over<K: Kind>(Daemon { name, live, stopped, .. }: Daemon<K>) -> HandlerResult {
    ///     while !stopped.wait_for(secs(10)).await {
    ///         println!("{name} is {:?} now", live.spec());
    ///     }
    ///     Ok(())
    /// }
    ///
    /// fn register<K: Kind>(resource: Resource<K>) -> Resource<K> {
    ///     resource.daemon("watch_over", watch_over, |o| o.cancellation_timeout(secs(5)))
    /// }
    /// ```
    pub fn daemon<F, Fut, T>(
        self,
        id: &str,
        handler: F,
        options: impl FnOnce(DaemonOptions<K>) -> DaemonOptions<K>,
    ) -> Self
    where
        F: Fn(Daemon<K>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = HandlerResult<T>> + Send + 'static,
        T: Serialize + 'static,
    {
        let DaemonOptions {
            common, restart, life, ..
        } = options(DaemonOptions::blank());
        let schedule = |reading: &mut Reading<'_>| Schedule::Daemon {
            restart: reading.optional("restart", restart.as_ref()).unwrap_or_default(),
        };
        self.background(id, TypeId::of::<F>(), (common, life), schedule, erase(handler))
    }

    /// Calls `handler` again and again for each object, on the object's own clock (T-1).
    pub fn timer<F, Fut, T>(
        self,
        id: &str,
        handler: F,
        options: impl FnOnce(TimerOptions<K>) -> TimerOptions<K>,
    ) -> Self
    where
        F: Fn(Timer<K>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = HandlerResult<T>> + Send + 'static,
        T: Serialize + 'static,
    {
        let TimerOptions {
            common,
            interval,
            idle,
            sharp,
            on_permanent,
            life,
            ..
        } = options(TimerOptions::blank());
        let schedule = |reading: &mut Reading<'_>| Schedule::Timer {
            interval: reading.optional("interval", interval.as_ref()),
            idle: reading.optional("idle", idle.as_ref()),
            sharp: reading.optional("sharp", sharp.as_ref()).unwrap_or_default(),
            on_permanent: reading
                .optional("on_permanent", on_permanent.as_ref())
                .unwrap_or_default(),
        };
        self.background(id, TypeId::of::<F>(), (common, life), schedule, erase(handler))
    }

    fn background(
        self,
        id: &str,
        function: TypeId,
        (common, life): (Common, Life<K>),
        schedule: impl FnOnce(&mut Reading<'_>) -> Schedule,
        call: BackgroundFn,
    ) -> Self {
        self.register(id, common, |registry, id, common, reading| {
            registry.background.push(Arc::new(BackgroundHandler {
                id,
                function,
                filters: common.filters.read(common.field.as_ref(), false, reading),
                field: common.field,
                limits: common.limits.read(reading),
                initial_delay: life.initial_delay.as_ref().and_then(|delay| delay.read(reading)),
                schedule: schedule(reading),
                optional: reading.optional("optional", life.optional.as_ref()).unwrap_or_default(),
                cancellation: life.cancellation(reading),
                param: common.param,
                call,
            }));
        })
    }
}
