package sdk

import (
	"context"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

// Look says which heads of a session can be advanced now, and when others can. It only reads. A host in which nothing stays running looks when it
// is told of a session, and believes nothing else that it was told.
func (s *Stepwell) Look(ctx context.Context, opts api.SessionOptions) (api.Attention, error) {
	if err := opts.Validate(); err != nil {
		return api.Attention{}, err
	}
	session, err := s.open(ctx, opts.SessionID)
	if err != nil {
		return api.Attention{}, err
	}
	a, err := session.Look(ctx, s.opts.Landing)
	if err != nil {
		return api.Attention{}, fault(err)
	}
	return api.Attention{Seq: int64(a.Seq), Ready: a.Ready, Held: a.Held, Next: a.Next}, nil
}
