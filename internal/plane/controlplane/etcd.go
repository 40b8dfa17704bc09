package controlplane

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/storage/wal"

	"github.com/rollout-ladder/ladder/internal/plane/prebaked"
)

const (
	// etcdSocket is relative to the plane's folder, which is the working
	// directory of the process: the path of a socket must fit in 108 bytes.
	etcdSocket = "etcd.sock"

	etcdTickMilliseconds     = 10
	etcdElectionMilliseconds = 100
	etcdQuotaBytes           = 4 << 30
	// etcdSegmentBytes is what a part of etcd's log takes before anything is in it.
	// There are two of them, and the folder lies in memory.
	etcdSegmentBytes = 8 << 20
	// etcdLogEntries is how many writes are kept in memory until there is a snapshot, for
	// members that lag behind, of which there are none. Upstream keeps 10,000, which are
	// 55 MB after 335 CRDs.
	etcdLogEntries = 500
)

// startEtcd starts etcd with contents and returns how it is read when it serves. It ends
// with ctx; failures after the start go to the returned channel. Errors are logged to
// log, which is a path or "stderr".
func startEtcd(ctx context.Context, dir, log string, contents []prebaked.Pair) (ranger, <-chan error, error) {
	data := filepath.Join(dir, "etcd")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, nil, fmt.Errorf("make etcd's folder: %w", err)
	}
	cfg := embed.NewConfig()
	cfg.Dir = data
	client := url.URL{Scheme: "unix", Host: etcdSocket}
	// Advertised addresses must look like host:port; nobody dials this one.
	nobody := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{nobody}
	// The only member has no peers. Whoever reached it as one could write any key.
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = nil, []url.URL{nobody}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.UnsafeNoFsync = true
	cfg.LogLevel = "error"
	cfg.LogOutputs = []string{log}
	cfg.QuotaBackendBytes = etcdQuotaBytes
	cfg.TickMs, cfg.ElectionMs = etcdTickMilliseconds, etcdElectionMilliseconds
	cfg.InitialElectionTickAdvance = true
	cfg.SnapshotCount, cfg.SnapshotCatchUpEntries = etcdLogEntries, 1
	wal.SegmentSizeBytes = etcdSegmentBytes

	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, nil, fmt.Errorf("start etcd: %w", err)
	}
	select {
	case <-server.Server.ReadyNotify():
	case err := <-server.Err():
		return nil, nil, fmt.Errorf("start etcd: %w", err)
	case <-ctx.Done():
		server.Close()
		return nil, nil, ctx.Err()
	}
	if err := fill(ctx, server.Server, contents); err != nil {
		server.Close()
		return nil, nil, err
	}

	done := make(chan error, 1)
	go func() {
		select {
		case <-ctx.Done():
			// Close waits for clients; the data is thrown away, so nobody waits.
			server.Server.HardStop()
			done <- nil
		case err := <-server.Err():
			done <- err
		}
	}()
	read := func(r *etcdserverpb.RangeRequest) (*etcdserverpb.RangeResponse, error) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx) // a server that has stopped panics
		}
		return server.Server.Range(ctx, r)
	}
	return read, done, nil
}

// fill writes contents in one transaction, as objects that are made now.
func fill(ctx context.Context, server *etcdserver.EtcdServer, contents []prebaked.Pair) error {
	if len(contents) == 0 {
		return nil
	}
	now := time.Now()
	request := &etcdserverpb.TxnRequest{}
	for _, p := range contents {
		fresh, err := p.Fresh(now)
		if err != nil {
			return fmt.Errorf("fill etcd: %w", err)
		}
		put := &etcdserverpb.PutRequest{Key: []byte(fresh.Key), Value: fresh.Value}
		request.Success = append(request.Success, &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestPut{RequestPut: put}})
	}
	if _, err := server.Txn(ctx, request); err != nil {
		return fmt.Errorf("fill etcd: %w", err)
	}
	return nil
}
