// Package llm is the contract between a turn and the models that answer it: one streaming interface, a catalog over
// several providers, and the rules by which streamed fragments become one whole assistant message.
//
// A provider never returns an error. Whatever happens to a response is told by the message it returns, because failed
// and aborted responses are committed like any other; [FailureOf] reads the details back.
package llm
