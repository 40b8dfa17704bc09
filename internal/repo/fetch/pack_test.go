package fetch

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// entry is an object of a pack that is written by hand.
type entry struct {
	kind    plumbing.ObjectType
	base    plumbing.Hash // of a REFDeltaObject
	back    int           // of an OFSDeltaObject: which entry, by number
	content []byte
	length  int // that is declared; -1 for the true one
}

// written writes a pack.
func written(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("PACK")
	_ = binary.Write(&b, binary.BigEndian, [2]uint32{2, uint32(len(entries))})
	var offsets []int
	for _, e := range entries {
		offsets = append(offsets, b.Len())
		length := e.length
		if length < 0 {
			length = len(e.content)
		}
		c := byte(e.kind)<<4 | byte(length&15)
		for length >>= 4; length > 0; length >>= 7 {
			b.WriteByte(c | 128)
			c = byte(length & 127)
		}
		b.WriteByte(c)
		switch e.kind {
		case plumbing.REFDeltaObject:
			b.Write(e.base[:])
		case plumbing.OFSDeltaObject:
			distance := offsets[len(offsets)-1] - offsets[e.back]
			if distance > 127 {
				t.Fatal("too far for this test")
			}
			b.WriteByte(byte(distance))
		default: // whole objects have no base
		}
		z := zlib.NewWriter(&b)
		_, _ = z.Write(e.content)
		_ = z.Close()
	}
	sum := sha1.Sum(b.Bytes())
	return append(b.Bytes(), sum[:]...)
}

// appending is the difference between a text of a length and the same with a byte
// more.
func appending(length int, more byte) []byte {
	return []byte{byte(length), byte(length + 1), 0x90, byte(length), 1, more}
}

func unpackBytes(t *testing.T, pack []byte, limits Limits) (*objects, error) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "objects"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return unpack(context.Background(), bytes.NewReader(pack), file, limits.withDefaults(), "x")
}

// TestDifferences: an object may be written as the difference from one that comes
// later.
func TestDifferences(t *testing.T) {
	blob := func(text string) plumbing.Hash { return plumbing.ComputeHash(plumbing.BlobObject, []byte(text)) }
	o, err := unpackBytes(t, written(t,
		entry{kind: plumbing.REFDeltaObject, base: blob("abcd"), content: appending(4, 'e'), length: -1},
		entry{kind: plumbing.OFSDeltaObject, back: 0, content: appending(5, 'f'), length: -1},
		entry{kind: plumbing.REFDeltaObject, base: blob("abc"), content: appending(3, 'd'), length: -1},
		entry{kind: plumbing.BlobObject, content: []byte("abc"), length: -1},
		entry{kind: plumbing.REFDeltaObject, base: blob("abcdef"), content: appending(6, 'g'), length: -1},
		entry{kind: plumbing.REFDeltaObject, base: blob("nowhere"), content: appending(7, 'x'), length: -1},
	), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"abc", "abcd", "abcde", "abcdef", "abcdefg"} {
		if got, err := o.get(plumbing.BlobObject, blob(text)); err != nil || string(got) != text {
			t.Errorf("%q, %v, want %q", got, err, text)
		}
	}
	if len(o.byID) != 5 {
		t.Errorf("%d objects", len(o.byID))
	}
}

// TestHostilePack: sizes are checked before anything is unpacked to them.
func TestHostilePack(t *testing.T) {
	huge := append([]byte{3}, binary.AppendUvarint(nil, 1<<40)...)
	huge = append(huge, bytes.Repeat([]byte{0x90, 3}, 100)...)
	one := entry{kind: plumbing.BlobObject, content: []byte("abc"), length: -1}
	good := written(t, one)
	for name, c := range map[string]struct {
		pack  []byte
		limit bool
	}{
		"declared":   {written(t, entry{kind: plumbing.BlobObject, content: []byte("x"), length: 1 << 40}), true},
		"longer":     {written(t, entry{kind: plumbing.BlobObject, content: []byte(strings.Repeat("x", 1000)), length: 10}), false},
		"shorter":    {written(t, entry{kind: plumbing.BlobObject, content: []byte("x"), length: 10}), false},
		"difference": {written(t, one, entry{kind: plumbing.OFSDeltaObject, content: huge, length: -1}), true},
		"no target":  {written(t, one, entry{kind: plumbing.OFSDeltaObject, content: []byte{3}, length: -1}), false},
		"kind":       {written(t, entry{kind: 5, content: []byte("x"), length: -1}), false},
		"count":      {append([]byte("PACK\x00\x00\x00\x02\xff\xff\xff\xff"), make([]byte, 100)...), true},
		"checksum":   {append(good[:len(good)-1:len(good)-1], good[len(good)-1]+1), false},
		"cut off":    {good[:len(good)-25], false},
		"empty":      {nil, false},
	} {
		_, err := unpackBytes(t, c.pack, Limits{})
		var limit *LimitError
		if err == nil || errors.As(err, &limit) != c.limit {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestManyObjects: what is bounded is the sum of all.
func TestManyObjects(t *testing.T) {
	pack := written(t, entry{kind: plumbing.BlobObject, content: []byte(strings.Repeat("a", 600)), length: -1}, entry{kind: plumbing.BlobObject, content: []byte(strings.Repeat("b", 600)), length: -1})
	if _, err := unpackBytes(t, pack, Limits{Checkout: 1200}); err != nil {
		t.Error(err)
	}
	var limit *LimitError
	if _, err := unpackBytes(t, pack, Limits{Checkout: 1199}); !errors.As(err, &limit) {
		t.Error(err)
	}
}

func TestCheckName(t *testing.T) {
	for _, name := range []string{"", ".", "..", "a/b", `a\b`, ".git", ".GiT", ".git.", ".git ", ".git. .", "git~1", "GIT~1", ".git:x", "a\x00b", "a\nb", "\u200b.git", "\xff", strings.Repeat("a", 256)} {
		if checkName(name) == "" {
			t.Errorf("%q is taken", name)
		}
	}
	for _, name := range []string{"a", ".gitignore", "..a", "a b", "ü", "git", ".gitx", "-rf", strings.Repeat("a", 255)} {
		if reason := checkName(name); reason != "" {
			t.Errorf("%q: %s", name, reason)
		}
	}
}

// FuzzUnpack: a pack of others cannot do more than fail.
func FuzzUnpack(f *testing.F) {
	f.Add([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, pack []byte) {
		o, err := unpackBytes(t, pack, Limits{File: 1 << 16, Checkout: 1 << 20, Files: 100})
		if err == nil && o.end > 1<<20 {
			t.Fatal("too much")
		}
	})
}
