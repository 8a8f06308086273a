package turn

import (
	"context"
	"fmt"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/tool"
	"github.com/stepwell-dev/stepwell/pkg/tool/builtin"
	"github.com/stepwell-dev/stepwell/pkg/tool/builtin/fetch"
)

// Offered returns what is offered to models. Note keeps what the tool note is told.
func (c Config) Offered(note func(context.Context, string) error) (*tool.Set, error) {
	offered := []tool.Tool{builtin.Ask(), builtin.Wait(), builtin.Clock(), builtin.Note(note), builtin.Slow(nil)}
	if len(c.FetchAllow) > 0 {
		f, err := fetch.New(fetch.Options{Allow: c.FetchAllow})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", EnvFetchAllow, err)
		}
		offered = append(offered, f)
	}
	return tool.NewSet(offered...)
}

// System is the system prompt of every run.
func System(object.Config) string {
	return "You are a helpful assistant. Several people may write in this conversation. Use the tools when they help."
}
