package main

// routes say which function answers what of openapi.json. What needs no token there is not served here: a load balancer has nothing to ask.
var routes = map[string][]string{
	"submit": {
		"POST /v1/sessions", "PATCH /v1/sessions/{id}", "POST /v1/sessions/{id}/config", "POST /v1/sessions/{id}/messages",
		"POST /v1/sessions/{id}/changes/{change}/cancel", "POST /v1/sessions/{id}/changes/{change}/redeliver",
		"POST /v1/sessions/{id}/runs/abort", "POST /v1/sessions/{id}/replies", "POST /v1/sessions/{id}/heads",
		"DELETE /v1/sessions/{id}/heads/{head}", "POST /v1/sessions/{id}/heads/{head}/move", "POST /v1/sessions/{id}/heads/{head}/merge",
		"POST /v1/sessions/{id}/heads/{head}/advance", "POST /v1/sessions/{id}/fsck",
		"POST /sessions/{id}/messages",
	},
	"step": {"POST /v1/sessions/{id}/steps", "POST /sessions/{id}/steps"},
	"snapshot": {
		"GET /v1/landing", "GET /v1/sessions", "GET /v1/sessions/{id}", "GET /v1/sessions/{id}/messages", "GET /v1/sessions/{id}/pending",
		"GET /v1/sessions/{id}/run", "GET /v1/sessions/{id}/runs/wait", "GET /v1/sessions/{id}/runs/{run}/changes",
		"GET /v1/sessions/{id}/context", "GET /v1/sessions/{id}/usage", "GET /v1/sessions/{id}/heads", "GET /v1/sessions/{id}/heads/{head}",
		"GET /v1/sessions/{id}/snapshot", "GET /v1/sessions/{id}/tree", "GET /v1/sessions/{id}/refs", "GET /v1/sessions/{id}/reflog",
		"GET /v1/sessions/{id}/objects/{oid}",
		"GET /sessions/{id}/snapshot",
	},
	"events":  {"GET /v1/sessions/{id}/events", "GET /sessions/{id}/events"},
	"collect": {"DELETE /v1/sessions/{id}", "POST /v1/sessions/{id}/collect", "POST /v1/sessions/{id}/trim"},
}
