//! livegrep's JSON: `/api/v1/search/`, by GET or POST.
//!
//! Queries are in livegrep's language: one pattern for a line, which may contain spaces, and `file:`, `repo:` and other
//! fields. Bounds count characters, and the lines before a match are in reverse order.

mod answer;
mod params;
mod parse;
mod query;

pub(crate) use answer::ENDPOINTS;

/// Parses a form and compiles its query.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzz(bytes: &[u8]) {
    use axum::Form;
    use axum::body::Body;
    use axum::extract::FromRequest;
    use axum::http::Request;

    let form = Request::post("/").header("content-type", "application/x-www-form-urlencoded");
    let form = form.body(Body::from(bytes.to_vec())).expect("a request");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let Ok(Form(pairs)) = Form::<Vec<(String, String)>>::from_request(form, &()).await else {
            return;
        };
        let Ok(query) = params::read(&pairs) else { return };
        let Ok(pattern) = query.pattern() else { return };
        let _ = query.request(::query::Field::Content, &pattern, 3).await;
    });
}
