package soak

import (
	"context"
	"maps"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
)

// lossyDisk is a file system in memory whose loss of power leaves of each file what was flushed,
// and nothing else.
type lossyDisk struct {
	mu      sync.Mutex
	off     bool
	kept    map[string][]byte // files as they were flushed last
	flushes int
}

// mount makes a folder of the disk as it is after power has come back, and returns what ends that.
func (d *lossyDisk) mount(t testing.TB, dir string) (end func()) {
	t.Helper()
	d.off = false
	root := &lossyFolder{disk: d}
	server, err := fs.Mount(dir, root, &fs.Options{
		MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: "lossy", Name: "lossy"},
		OnAdd: func(ctx context.Context) {
			for name, data := range d.kept {
				f := &lossyFile{disk: d, name: name, data: slices.Clone(data)}
				root.AddChild(name, root.NewPersistentInode(ctx, f, fs.StableAttr{Mode: fuse.S_IFREG}), true)
			}
		},
	})
	if err != nil {
		t.Skipf("there is no FUSE here, or no right to use it: %v", err)
	}
	return sync.OnceFunc(func() {
		require.NoError(t, server.Unmount())
		server.Wait()
	})
}

// cut is the loss of power: nothing is written or flushed any more.
func (d *lossyDisk) cut() map[string][]byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off = true
	return maps.Clone(d.kept)
}

// lossyFolder is the only folder of the disk.
type lossyFolder struct {
	fs.Inode
	disk *lossyDisk
}

var (
	_ fs.NodeCreater  = (*lossyFolder)(nil)
	_ fs.NodeUnlinker = (*lossyFolder)(nil)
)

// Create implements [fs.NodeCreater].
func (n *lossyFolder) Create(ctx context.Context, name string, _, _ uint32, _ *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	f := &lossyFile{disk: n.disk, name: name}
	inode := n.NewPersistentInode(ctx, f, fs.StableAttr{Mode: fuse.S_IFREG})
	n.AddChild(name, inode, true)
	return inode, nil, fuse.FOPEN_KEEP_CACHE, 0
}

// Unlink implements [fs.NodeUnlinker].
func (n *lossyFolder) Unlink(_ context.Context, name string) syscall.Errno {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	if n.disk.off {
		return syscall.EIO
	}
	delete(n.disk.kept, name)
	return 0
}

// lossyFile is a file: what programs see of it, and since when it differs from what was flushed.
type lossyFile struct {
	fs.Inode
	disk     *lossyDisk
	name     string
	data     []byte
	from, to int // what was written since the last flush, if to > 0
}

var (
	_ fs.NodeOpener    = (*lossyFile)(nil)
	_ fs.NodeReader    = (*lossyFile)(nil)
	_ fs.NodeWriter    = (*lossyFile)(nil)
	_ fs.NodeFsyncer   = (*lossyFile)(nil)
	_ fs.NodeGetattrer = (*lossyFile)(nil)
	_ fs.NodeSetattrer = (*lossyFile)(nil)
)

// Open implements [fs.NodeOpener].
func (f *lossyFile) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_KEEP_CACHE, 0
}

// Read implements [fs.NodeReader].
func (f *lossyFile) Read(_ context.Context, _ fs.FileHandle, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	from := min(int(off), len(f.data))
	to := min(from+len(dest), len(f.data))
	return fuse.ReadResultData(slices.Clone(f.data[from:to])), 0
}

// Write implements [fs.NodeWriter].
func (f *lossyFile) Write(_ context.Context, _ fs.FileHandle, data []byte, off int64) (uint32, syscall.Errno) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.off {
		return 0, syscall.EIO
	}
	to := int(off) + len(data)
	f.resize(max(len(f.data), to))
	copy(f.data[off:], data)
	f.touch(int(off), to)
	return uint32(len(data)), 0 //nolint:gosec // at most what one request holds
}

func (f *lossyFile) resize(size int) {
	if size <= len(f.data) {
		f.data = f.data[:size]
		return
	}
	f.touch(len(f.data), size)
	f.data = append(f.data, make([]byte, size-len(f.data))...)
}

func (f *lossyFile) touch(from, to int) {
	if f.to == 0 {
		f.from = from
	}
	f.from, f.to = min(f.from, from), max(f.to, to)
}

// Fsync implements [fs.NodeFsyncer].
func (f *lossyFile) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.off {
		return syscall.EIO
	}
	kept := f.disk.kept[f.name]
	if len(kept) > len(f.data) {
		kept = kept[:len(f.data)]
	}
	kept = append(kept, make([]byte, len(f.data)-len(kept))...)
	if f.to = min(f.to, len(f.data)); f.from < f.to {
		copy(kept[f.from:f.to], f.data[f.from:f.to])
	}
	f.disk.kept[f.name] = kept
	f.from, f.to = 0, 0
	f.disk.flushes++
	return 0
}

// Getattr implements [fs.NodeGetattrer].
func (f *lossyFile) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	out.Mode, out.Size, out.Nlink = 0o600, uint64(len(f.data)), 1
	return 0
}

// Setattr implements [fs.NodeSetattrer].
func (f *lossyFile) Setattr(ctx context.Context, h fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if size, ok := in.GetSize(); ok {
		f.disk.mu.Lock()
		if f.disk.off {
			f.disk.mu.Unlock()
			return syscall.EIO
		}
		f.resize(int(size)) //nolint:gosec // of a file in memory
		f.disk.mu.Unlock()
	}
	return f.Getattr(ctx, h, out)
}
