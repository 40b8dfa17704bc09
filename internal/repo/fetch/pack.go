package fetch

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// objects are those of a pack, unpacked into a file. Each is inflated once and
// bounded before it is: a pack of others may unfold to a thousand times its size.
// An object is found by the hash of its content, so nothing can stand for another.
type objects struct {
	file   *os.File
	end    int64
	limits Limits
	shown  string

	byID     map[plumbing.Hash]object
	byOffset map[int64]plumbing.Hash
	// waiting are differences from objects that come later.
	waitingID     map[plumbing.Hash][]delta
	waitingOffset map[int64][]delta
}

// object is where the content of one lies in the file.
type object struct {
	kind    plumbing.ObjectType
	at, len int64
}

// delta is an object that is written as the difference from another.
type delta struct {
	offset int64 // in the pack
	text   object
}

var errPack = errors.New("the server sent a damaged pack")

// unpack reads a pack.
func unpack(ctx context.Context, r io.Reader, file *os.File, limits Limits, shown string) (*objects, error) {
	o := &objects{file: file, limits: limits, shown: shown, byID: map[plumbing.Hash]object{}, byOffset: map[int64]plumbing.Hash{},
		waitingID: map[plumbing.Hash][]delta{}, waitingOffset: map[int64][]delta{}}
	scanner := packfile.NewScanner(struct{ io.Reader }{r})
	_, count, err := scanner.Header()
	if err != nil {
		return nil, err
	}
	if int64(count) > int64(limits.Files) {
		return nil, o.exceeded(fmt.Sprintf("%d objects", limits.Files))
	}
	for range count {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		header, err := scanner.NextObjectHeader()
		if err != nil {
			return nil, err
		}
		if err := o.fits(header.Length); err != nil {
			return nil, err
		}
		var content bytes.Buffer
		n, _, err := scanner.NextObject(&content)
		if err != nil {
			return nil, err
		}
		if n != header.Length {
			return nil, errPack
		}
		if err := o.add(header, content.Bytes()); err != nil {
			return nil, err
		}
	}
	if _, err := scanner.Checksum(); err != nil {
		return nil, err
	}
	return o, nil
}

func (o *objects) exceeded(limit string) error { return &LimitError{Address: o.shown, Limit: limit} }

// fits reports whether an object of a size may be unpacked.
func (o *objects) fits(size64 int64) error {
	switch {
	case size64 < 0:
		return errPack
	case size64 > o.limits.File:
		return o.exceeded(size(o.limits.File) + " for one file")
	case o.end+size64 > o.limits.Checkout:
		return o.exceeded(size(o.limits.Checkout))
	}
	return nil
}

// add takes one entry of the pack.
func (o *objects) add(header *packfile.ObjectHeader, content []byte) error {
	switch header.Type {
	case plumbing.CommitObject, plumbing.TreeObject, plumbing.BlobObject, plumbing.TagObject:
		return o.found(header.Type, header.Offset, content)
	case plumbing.OFSDeltaObject:
		if base, ok := o.byOffset[header.OffsetReference]; ok {
			return o.patched(o.byID[base], header.Offset, content)
		}
		text, err := o.put(header.Type, content)
		o.waitingOffset[header.OffsetReference] = append(o.waitingOffset[header.OffsetReference], delta{header.Offset, text})
		return err
	case plumbing.REFDeltaObject:
		if base, ok := o.byID[header.Reference]; ok {
			return o.patched(base, header.Offset, content)
		}
		text, err := o.put(header.Type, content)
		o.waitingID[header.Reference] = append(o.waitingID[header.Reference], delta{header.Offset, text})
		return err
	default:
		return errPack
	}
}

// put writes content to the end of the file.
func (o *objects) put(kind plumbing.ObjectType, content []byte) (object, error) {
	if err := o.fits(int64(len(content))); err != nil {
		return object{}, err
	}
	written := object{kind: kind, at: o.end, len: int64(len(content))}
	_, err := o.file.WriteAt(content, o.end)
	o.end += written.len
	return written, err
}

// content reads an object.
func (o *objects) content(of object) ([]byte, error) {
	content := make([]byte, of.len)
	_, err := o.file.ReadAt(content, of.at)
	return content, err
}

// patched takes an object that is written as the difference from another.
func (o *objects) patched(base object, offset int64, difference []byte) error {
	content, err := o.patch(base, difference)
	if err != nil {
		return err
	}
	return o.found(base.kind, offset, content)
}

// patch applies a difference. Its head says how large the result is.
func (o *objects) patch(base object, difference []byte) ([]byte, error) {
	_, n := binary.Uvarint(difference)
	if n <= 0 {
		return nil, errPack
	}
	target, m := binary.Uvarint(difference[n:])
	if m <= 0 || target > 1<<62 {
		return nil, errPack
	}
	if err := o.fits(int64(target)); err != nil {
		return nil, err
	}
	source, err := o.content(base)
	if err != nil {
		return nil, err
	}
	return packfile.PatchDelta(source, difference)
}

// found takes an object whose content is known, and those that waited for it.
func (o *objects) found(kind plumbing.ObjectType, offset int64, content []byte) error {
	if err := o.note(kind, offset, content); err != nil {
		return err
	}
	for ready := []int64{offset}; len(ready) > 0; {
		at := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		id := o.byOffset[at]
		waiting := slices.Concat(o.waitingOffset[at], o.waitingID[id])
		delete(o.waitingOffset, at)
		delete(o.waitingID, id)
		for _, d := range waiting {
			difference, err := o.content(d.text)
			if err != nil {
				return err
			}
			content, err := o.patch(o.byID[id], difference)
			if err != nil {
				return err
			}
			if err := o.note(o.byID[id].kind, d.offset, content); err != nil {
				return err
			}
			ready = append(ready, d.offset)
		}
	}
	return nil
}

func (o *objects) note(kind plumbing.ObjectType, offset int64, content []byte) error {
	id := plumbing.ComputeHash(kind, content)
	o.byOffset[offset] = id
	if _, ok := o.byID[id]; ok {
		return nil
	}
	written, err := o.put(kind, content)
	o.byID[id] = written
	return err
}

// get returns the content of an object of a kind.
func (o *objects) get(kind plumbing.ObjectType, id plumbing.Hash) ([]byte, error) {
	found, ok := o.byID[id]
	if !ok || found.kind != kind {
		return nil, fmt.Errorf("%w: %s %s is missing", errPack, kind, id)
	}
	return o.content(found)
}

// maxTagDepth bounds tags of tags.
const maxTagDepth = 10

// peel returns the commit that an object is, or is a tag of, and the tree of it.
func (o *objects) peel(id plumbing.Hash) (commit, tree plumbing.Hash, err error) {
	for range maxTagDepth {
		if o.byID[id].kind != plumbing.TagObject {
			break
		}
		text, err := o.content(o.byID[id])
		if err != nil {
			return commit, tree, err
		}
		if id, err = headerHash(text, "object "); err != nil {
			return commit, tree, err
		}
	}
	text, err := o.get(plumbing.CommitObject, id)
	if err != nil {
		return commit, tree, err
	}
	tree, err = headerHash(text, "tree ")
	return id, tree, err
}

// headerHash reads the hash in the first line of a commit or tag.
func headerHash(text []byte, name string) (plumbing.Hash, error) {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	value, ok := bytes.CutPrefix(line, []byte(name))
	if !ok || !commitID.Match(value) {
		return plumbing.ZeroHash, errPack
	}
	return plumbing.NewHash(string(value)), nil
}
