//! The gateway as a Lambda function: HTTP events of a Function URL to the same router that one machine serves. One binary for two
//! functions: one whose answers leave whole, and one whose answers are streams.

use pudu_gateway::{cloud, router};
use pudu_lambda::env::Process;
use pudu_lambda::settings::{Answers, Settings};
use pudu_lambda::telemetry::{self, Format};

#[tokio::main]
async fn main() -> Result<(), lambda_http::Error> {
    let settings = Settings::read(&Process)?;
    telemetry::init(settings.log, Format::Json);
    let router = router(cloud::compose(&settings).await?);
    match settings.answers {
        Answers::Buffered => lambda_http::run(router).await,
        Answers::Stream { .. } => lambda_http::run_with_streaming_response(router).await,
    }
}
