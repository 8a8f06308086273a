package dynstore

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// How bytes are stored.
const (
	plain      int64 = 0 // as they are
	compressed int64 = 1 // one zstd frame
)

// Fewer bytes fit into the write unit that they cost anyway.
const compressFrom = 512

// maxBody bounds what stored bytes may grow to, so that a corrupt item cannot take all memory. Larger bodies stay plain.
const maxBody = 64 << 20

// A codec compresses. It may be used from many goroutines.
type codec struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

func newCodec() (*codec, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithAllLitEntropyCompression(true),
		zstd.WithEncoderConcurrency(2), zstd.WithEncoderCRC(false), zstd.WithWindowSize(1<<18), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("making the compressor: %w", err)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxBody), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, fmt.Errorf("making the decompressor: %w", err)
	}
	return &codec{enc: enc, dec: dec}, nil
}

// pack compresses bytes when that makes them fewer.
func (c *codec) pack(data []byte) (how int64, packed []byte) {
	if len(data) < compressFrom || len(data) > maxBody {
		return plain, data
	}
	z := c.enc.EncodeAll(data, make([]byte, 0, len(data)/2))
	if len(z) > len(data)-len(data)/16 {
		return plain, data
	}
	return compressed, z
}

func (c *codec) unpack(how int64, packed []byte) ([]byte, error) {
	switch how {
	case plain:
		return packed, nil
	case compressed:
		return c.dec.DecodeAll(packed, nil)
	}
	return nil, fmt.Errorf("unknown codec %d", how)
}
