//! The operator on an embedded API server: no cluster, no waiting.

use kopf_testserver::Server;

#[tokio::test(start_paused = true)]
async fn handles_its_sample() {
    // seeded from the first sample; shape to be settled with the testserver's API
}
