package api

import (
	"github.com/go-json-experiment/json"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

//nolint:gochecknoglobals // immutable codec tables
var (
	marshalers = json.JoinMarshalers(
		configureOutcomes.Marshalers(), sendReceipts.Marshalers(), cancelOutcomes.Marshalers(),
		redeliverOutcomes.Marshalers(), abortOutcomes.Marshalers(), waitOutcomes.Marshalers(), replyOutcomes.Marshalers(),
		createHeadOutcomes.Marshalers(), moveOutcomes.Marshalers(), deleteHeadOutcomes.Marshalers(),
		mergeOutcomes.Marshalers(), advanceOutcomes.Marshalers(), createSessionOutcomes.Marshalers(),
		stepOutcomes.Marshalers(), eventBodies.Marshalers(), transcriptItems.Marshalers(), transcriptParts.Marshalers(),
		object.Marshalers(),
	)
	unmarshalers = json.JoinUnmarshalers(
		configureOutcomes.Unmarshalers(), sendReceipts.Unmarshalers(), cancelOutcomes.Unmarshalers(),
		redeliverOutcomes.Unmarshalers(), abortOutcomes.Unmarshalers(), waitOutcomes.Unmarshalers(),
		replyOutcomes.Unmarshalers(), createHeadOutcomes.Unmarshalers(), moveOutcomes.Unmarshalers(),
		deleteHeadOutcomes.Unmarshalers(), mergeOutcomes.Unmarshalers(), advanceOutcomes.Unmarshalers(),
		createSessionOutcomes.Unmarshalers(), stepOutcomes.Unmarshalers(), eventBodies.Unmarshalers(),
		transcriptItems.Unmarshalers(), transcriptParts.Unmarshalers(), object.Unmarshalers(),
	)
)

// Marshal returns the JSON of v, a value that may hold anything of this package.
func Marshal(v any) ([]byte, error) { return json.Marshal(v, json.WithMarshalers(marshalers)) }

// Unmarshal reads data into v, a pointer. Members that v does not have are ignored, as a client wants that is older than
// its server. Duplicate names and outcomes of unknown kind are errors; an event of unknown kind is an [UnknownEvent].
func Unmarshal(data []byte, v any) error {
	return json.Unmarshal(data, v, json.WithUnmarshalers(unmarshalers))
}

// UnmarshalStrict is [Unmarshal] for requests: a member that v does not have is an error, so that a typo is not lost.
func UnmarshalStrict(data []byte, v any) error {
	return json.Unmarshal(data, v, json.WithUnmarshalers(unmarshalers), json.RejectUnknownMembers(true))
}
