package incluster

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-ladder/ladder/internal/store"
)

// formatVersion is the version of everything that is kept.
const formatVersion = "1"

// Bounds of what is in one ConfigMap, in bytes as they are; base64 on the way to
// the API server makes them a third longer. A part of the journal is written
// anew by etcd with every append, so it is small.
const (
	snapshotPart = 360 << 10
	journalPart  = 96 << 10
	// mostState bounds what a snapshot may be unpacked to.
	mostState = 256 << 20
)

const (
	keyHead = "head.json"
	keyPart = "part.gz"
)

// head says which generation counts.
type head struct {
	FormatVersion string `json:"formatVersion"`
	Key
	// Generation names the snapshot and the journal: a number that grows and a
	// random part.
	Generation string `json:"generation"`
	// Snapshot is the number of its parts, Checksum that of its bytes, Journal the
	// number of parts of the journal that hold records which count.
	Snapshot int       `json:"snapshot"`
	Checksum string    `json:"checksum"`
	Journal  int       `json:"journal"`
	At       time.Time `json:"at"`
}

// number is the growing part of a generation's name.
func (h head) number() int {
	text, _, _ := strings.Cut(h.Generation, "-")
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

func decodeHead(cm *corev1.ConfigMap) (head, error) {
	var h head
	if err := json.Unmarshal([]byte(cm.Data[keyHead]), &h); err != nil {
		return h, fmt.Errorf("read state %s/%s: %w", Namespace, cm.Name, err)
	}
	if h.FormatVersion != formatVersion {
		return h, fmt.Errorf("state %s/%s has format version %q, not %q", Namespace, cm.Name, h.FormatVersion, formatVersion)
	}
	return h, nil
}

func (k Key) partName(generation, kind string, index int) string {
	return fmt.Sprintf("%s-%s-%s%d", k.base(), generation, kind, index)
}

// loaded is a generation as it was read.
type loaded struct {
	saved store.Saved
	head  head
	// version is the resource version of the head.
	version string
	// sequence is the number of the last append, size what the last part of the
	// journal holds.
	sequence, size int
}

// errReplaced says that a generation was replaced while it was read.
var errReplaced = errors.New("the state was replaced while it was read")

// readTries bounds how often a state is read that is replaced meanwhile; a
// snapshot is taken every few thousand records.
const readTries = 10

// load reads the generation that counts; found is false where nothing was ever
// saved.
func (c *Cluster) load(ctx context.Context, key Key) (l loaded, found bool, err error) {
	for range readTries {
		l, found, err = c.loadOnce(ctx, key)
		if !errors.Is(err, errReplaced) {
			return l, found, err
		}
	}
	return l, found, err
}

func (c *Cluster) loadOnce(ctx context.Context, key Key) (l loaded, found bool, err error) {
	cm, err := c.getHead(ctx, key)
	if err != nil || cm == nil {
		return l, false, err
	}
	if l.head, err = decodeHead(cm); err != nil {
		return l, false, err
	}
	l.version = cm.ResourceVersion
	var list *corev1.ConfigMapList
	err = persist(ctx, func(ctx context.Context) (err error) {
		list, err = c.maps.List(ctx, metav1.ListOptions{
			LabelSelector: labelRollout + "=" + key.Name() + "," + labelGeneration + "=" + l.head.Generation,
		})
		return err
	})
	if err != nil {
		return l, false, fmt.Errorf("read state: %w", err)
	}
	if err := l.assemble(key, list.Items); err != nil {
		again, headErr := c.getHead(ctx, key)
		if headErr != nil {
			return l, false, headErr
		}
		if again != nil && again.ResourceVersion != l.version {
			return l, false, errReplaced
		}
		return l, false, fmt.Errorf("state %s/%s is damaged: %w", Namespace, key.base(), err)
	}
	return l, true, nil
}

// getHead returns the head, nil where there is none.
func (c *Cluster) getHead(ctx context.Context, key Key) (cm *corev1.ConfigMap, err error) {
	err = persist(ctx, func(ctx context.Context) (err error) {
		cm, err = c.maps.Get(ctx, key.base(), metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read state: %w", err)
	}
	return cm, nil
}

// assemble puts a generation together.
func (l *loaded) assemble(key Key, parts []corev1.ConfigMap) error {
	byName := map[string]*corev1.ConfigMap{}
	for i := range parts {
		byName[parts[i].Name] = &parts[i]
	}
	var packed []byte
	for i := range l.head.Snapshot {
		part := byName[key.partName(l.head.Generation, "s", i)]
		if part == nil {
			return fmt.Errorf("part %d of the snapshot is missing", i)
		}
		packed = append(packed, part.BinaryData[keyPart]...)
	}
	if sum(packed) != l.head.Checksum {
		return errors.New("the checksum of the snapshot differs")
	}
	state, err := unpack(packed)
	if err != nil {
		return fmt.Errorf("the snapshot: %w", err)
	}
	l.saved.Snapshot = state
	return l.assembleJournal(key, byName)
}

// assembleJournal reads the appends in their order. One that lacks its end was
// being written when the process went down; a gap before it is damage.
func (l *loaded) assembleJournal(key Key, byName map[string]*corev1.ConfigMap) error {
	var open []byte // the pieces of an append so far
	var next piece  // the one that must come
	next = piece{append: 1}
	for i := range l.head.Journal {
		part := byName[key.partName(l.head.Generation, "j", i)]
		if part == nil {
			return fmt.Errorf("part %d of the journal is missing", i)
		}
		l.size = 0
		names := make([]string, 0, len(part.BinaryData))
		for name := range part.BinaryData {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			p, err := parsePiece(name)
			if err != nil {
				return err
			}
			if p.append != next.append || p.index != next.index {
				return fmt.Errorf("append %d of the journal is missing", next.append)
			}
			data := part.BinaryData[name]
			l.size += len(data)
			open = append(open, data...)
			if p.index+1 < p.of {
				next.index++
				continue
			}
			text, err := unpack(open)
			if err != nil {
				return fmt.Errorf("append %d of the journal: %w", p.append, err)
			}
			for line := range bytes.Lines(text) {
				l.saved.Records = append(l.saved.Records, json.RawMessage(bytes.TrimSuffix(line, []byte("\n"))))
			}
			l.sequence = p.append
			open, next = nil, piece{append: p.append + 1}
		}
	}
	return nil
}

// piece is the key of a piece of an append: most have one.
type piece struct{ append, index, of int }

func (p piece) String() string { return fmt.Sprintf("%08d.%03d.%03d", p.append, p.index, p.of) }

func parsePiece(name string) (piece, error) {
	var p piece
	if _, err := fmt.Sscanf(name, "%d.%d.%d", &p.append, &p.index, &p.of); err != nil || p.String() != name {
		return p, fmt.Errorf("the journal has an entry %q", name)
	}
	return p, nil
}

// pack compresses; a gzip stream carries its own checksum.
func pack(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(r, mostState+1))
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	if len(data) > mostState {
		return nil, errors.New("unpack: it is too large")
	}
	return data, nil
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}
