// Package httpapi serves an [api.Service] over HTTP.
//
// # Routes
//
// All are under /v1. Bodies and answers are JSON (application/json); a body may have at most Options.BodyLimit bytes.
//
//	GET    /v1/landing                                 the landing policy
//	POST   /v1/sessions                                create: created | exists                       (Idempotency-Key)
//	GET    /v1/sessions?owner&cursor&limit             a page
//	GET    /v1/sessions/{id}
//	PATCH  /v1/sessions/{id}                           name, pinned, archived; each on its own
//	DELETE /v1/sessions/{id}                           204, also when it is gone already
//	POST   /v1/sessions/{id}/config                    queued | unknown_model | unknown_agent         (Idempotency-Key)
//	GET    /v1/sessions/{id}/snapshot?head             ETag W/"seq"
//	GET    /v1/sessions/{id}/events?after&live&named   server-sent events, or ?wait&limit for a JSON page
//	POST   /v1/sessions/{id}/messages                  queued | duplicate                             (Idempotency-Key)
//	GET    /v1/sessions/{id}/messages?head&before&limit
//	GET    /v1/sessions/{id}/pending?head
//	POST   /v1/sessions/{id}/changes/{change}/cancel       cancelled | landed | not_found
//	POST   /v1/sessions/{id}/changes/{change}/redeliver    redelivered | unchanged | landed | not_found
//	POST   /v1/sessions/{id}/steps                     idle | busy | waiting | retry | finished | fenced | continue
//	GET    /v1/sessions/{id}/run?head                  {"run": …}, without the member when there is none
//	GET    /v1/sessions/{id}/runs/wait?head&timeout    idle | waiting; 504 after timeout seconds
//	POST   /v1/sessions/{id}/runs/abort                requested | not_running
//	GET    /v1/sessions/{id}/runs/{run}/changes?head
//	POST   /v1/sessions/{id}/replies                   signalled | not_waiting | not_found
//	GET    /v1/sessions/{id}/context?head
//	GET    /v1/sessions/{id}/usage?head
//	GET    /v1/sessions/{id}/heads
//	POST   /v1/sessions/{id}/heads                     created | exists | unknown_parent
//	GET    /v1/sessions/{id}/heads/{head}              ETag "tip" or "unborn"
//	DELETE /v1/sessions/{id}/heads/{head}              deleted | not_found | busy                     (If-Match)
//	POST   /v1/sessions/{id}/heads/{head}/move         moved | busy | moved_since | not_found         (If-Match)
//	POST   /v1/sessions/{id}/heads/{head}/merge        merged | stale | empty | no_stack              (If-Match)
//	POST   /v1/sessions/{id}/heads/{head}/advance      unchanged | advanced | diverged
//	GET    /v1/sessions/{id}/tree?head
//	GET    /v1/sessions/{id}/refs?prefix
//	GET    /v1/sessions/{id}/reflog?ref&limit
//	GET    /v1/sessions/{id}/objects/{oid}             the canonical bytes; ETag "oid", cacheable for ever
//	POST   /v1/sessions/{id}/fsck
//	POST   /v1/sessions/{id}/trim
//	POST   /v1/sessions/{id}/collect
//	GET    /healthz /readyz /version /problems/{code}  never need a token
//	GET    /openapi.json                               the same as an OpenAPI 3.1 document; needs no token either
//
// The four routes messages, snapshot, events and steps also answer without the /v1.
//
// # Outcomes and problems
//
// A domain outcome is 200 and its body's "kind" says which; it is never an error status, because clients retry those.
// Everything else is a problem (RFC 9457, application/problem+json) with code, requestId and, for invalid input, errors with
// JSON pointers. See problem.go for the list.
//
// # Idempotency
//
// The header Idempotency-Key is the body's member key: quoted or bare, at most 255 bytes, one. The same key with the same
// content answers as before, with Idempotent-Replayed: true; with other content it is 422. Keys live as long as their
// session.
//
// # Events
//
// The feed is in order and resumable. An SSE event's id is its seq; only the last event of a seq has one, and synced has
// none, so that a cursor never skips anything. Resume with Last-Event-ID, which wins over ?after. A cursor below the floor
// is 410 with the floor: take a snapshot and watch from its seq. Three events belong to the transport and not to the
// session: reconnect (come back with the last id), cursor_expired and problem; each is the last of its stream.
package httpapi
