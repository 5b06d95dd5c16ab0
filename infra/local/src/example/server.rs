//! The protocol side: `rmcp`'s Streamable HTTP service over the server's state.
//!
//! Stateless for both eras: the old revisions' sessions would be lost with the process, and nothing here needs one.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler};

use super::tools::{
    self, ANSWER, AnswerArguments, CANCEL, ECHO, EchoArguments, IdArguments, STATUS, SUBMIT, SubmitArguments,
};
use super::{Example, SubmitError};

/// Origins of pages that may call: those of this machine. A request without an Origin is no browser's.
const ORIGINS: [&str; 3] = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];

/// The service of one server. A Host that is not loopback is refused by the SDK's default.
pub(super) fn service(example: Example) -> StreamableHttpService<Example, NeverSessionManager> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_sse_keep_alive(None)
        .with_allowed_origins(ORIGINS);
    StreamableHttpService::new(move || Ok(example.clone()), Arc::new(NeverSessionManager::default()), config)
}

impl ServerHandler for Example {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("pudu-example", env!("CARGO_PKG_VERSION")))
            .with_instructions(
                "`echo` answers at once. `submit_report` starts a report; ask `get_report_status` for it, and answer what it asks with `answer_report`.",
            )
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.shared.tools.all().to_vec()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.shared.tools.get(name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments;
        let result = match request.name.as_ref() {
            ECHO => tools::read(arguments).map(|EchoArguments { text }| tools::echoed(text)),
            SUBMIT => match tools::read(arguments).and_then(SubmitArguments::into_order) {
                Ok(order) => self
                    .submit(order)
                    .await
                    .map(|report| tools::submitted(&report))
                    .map_err(|error| explain(&error)),
                Err(wrong) => Err(wrong),
            },
            STATUS => match tools::read(arguments).and_then(IdArguments::check) {
                Ok(IdArguments { task_id }) => Ok(self.answer_status(&task_id).await),
                Err(wrong) => Err(wrong),
            },
            CANCEL => match tools::read(arguments).and_then(IdArguments::check) {
                Ok(IdArguments { task_id }) => self.answer_cancel(&task_id).await,
                Err(wrong) => Err(wrong),
            },
            ANSWER => match tools::read(arguments).and_then(AnswerArguments::check) {
                Ok((task_id, text)) => self.answer_question(&task_id, text).await,
                Err(wrong) => Err(wrong),
            },
            unknown => {
                return Err(ErrorData::invalid_params(format!("this server has no tool {unknown}"), None));
            }
        };
        Ok(result.unwrap_or_else(tools::tool_error).into())
    }
}

impl Example {
    async fn answer_status(&self, id: &str) -> CallToolResult {
        if let Some((report, _)) = self.report(id)
            && !report.order.status_delay.is_zero()
        {
            self.shared.clock.sleep(report.order.status_delay).await;
        }
        // After the wait: the answer is the state of when it is sent.
        self.status(id).map_or_else(|| tools::not_found(id), |(report, state)| tools::status(&report, state))
    }

    async fn answer_question(&self, id: &str, text: String) -> Result<CallToolResult, String> {
        match self.answer(id, text).await {
            Ok(Ok(())) => Ok(tools::answered(id)),
            Ok(Err(why)) => Err(why.to_owned()),
            Err(error) => Err(format!("the answer could not be stored, try again: {error}")),
        }
    }

    async fn answer_cancel(&self, id: &str) -> Result<CallToolResult, String> {
        match self.cancel(id).await {
            Ok(Some((report, state))) => Ok(tools::cancelled(&report, state)),
            Ok(None) => Ok(tools::not_found(id)),
            Err(error) => Err(format!("the cancel could not be stored, try again: {error}")),
        }
    }
}

fn explain(error: &SubmitError) -> String {
    match error {
        SubmitError::Full => error.to_string(),
        SubmitError::Store(source) => format!("{error}: {source}"),
    }
}
