package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

const (
	apiVersion = "v1alpha2"
	socketName = "nvidia.sock"
)

// plugin offers the node's GPUs to kubelet. kubelet wipes the folder when it starts: the program then ends, and systemd
// starts it anew.
func plugin(args []string) error {
	flags := flag.NewFlagSet("nvidia-device-plugin", flag.ExitOnError)
	folder := flags.String("folder", "/var/lib/kubelet/device-plugins", "kubelet's folder of plug-ins")
	resource := flags.String("resource", "nvidia.com/gpu", "name of the resource")
	if err := flags.Parse(args); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	socket, kubelet := filepath.Join(*folder, socketName), filepath.Join(*folder, "kubelet.sock")
	before, err := os.Stat(kubelet)
	if err != nil {
		return fmt.Errorf("kubelet is not there: %w", err)
	}
	if err := os.Remove(socket); err != nil && !os.IsNotExist(err) {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	server := grpc.NewServer(grpc.ForceServerCodec(codec{}))
	server.RegisterService(&service, &plug{program})
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	if err := register(kubelet, *resource); err != nil {
		return fmt.Errorf("kubelet refuses: %w", err)
	}
	fmt.Println("registered", *resource, len(visible()))
	for {
		select {
		case err := <-failed:
			return err
		case <-time.After(time.Second):
		}
		now, err := os.Stat(kubelet)
		if _, gone := os.Stat(socket); err != nil || gone != nil || !os.SameFile(before, now) {
			return fmt.Errorf("kubelet was started anew: registering again")
		}
	}
}

func register(kubelet, resource string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	link, err := grpc.DialContext(ctx, "unix://"+kubelet,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithBlock(),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(codec{})))
	if err != nil {
		return err
	}
	defer link.Close()
	request, answer := text(text(text(nil, 1, apiVersion), 2, socketName), 3, resource), message{}
	return link.Invoke(ctx, "/deviceplugin.Registration/Register", &request, &answer)
}

type plug struct{ program string }

// listAndWatch tells of the GPUs, again whenever one fails or recovers.
func (p *plug) listAndWatch(stream grpc.ServerStream) error {
	var told []gpu
	for first := true; ; first = false {
		if gpus := visible(); first || !slices.Equal(gpus, told) {
			m := devices(gpus)
			if err := stream.SendMsg(&m); err != nil {
				return err
			}
			told = gpus
		}
		select {
		case <-stream.Context().Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

func (p *plug) allocate(request message) (*message, error) {
	ids, err := texts(request, 1)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	known := visible()
	var minors []int
	for _, id := range ids {
		minor, err := strconv.Atoi(strings.TrimPrefix(id, "GPU-fake-"))
		if err != nil || !slices.ContainsFunc(known, func(g gpu) bool { return g.minor == minor && !g.failed }) {
			return nil, status.Errorf(codes.NotFound, "no healthy GPU %s", id)
		}
		minors = append(minors, minor)
	}
	fmt.Println("allocate", ids)
	answer := allocation(ids, minors, p.program)
	return &answer, nil
}

var service = grpc.ServiceDesc{
	ServiceName: "deviceplugin.DevicePlugin",
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{
		MethodName: "Allocate",
		Handler: func(srv any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			var request message
			if err := decode(&request); err != nil {
				return nil, err
			}
			return srv.(*plug).allocate(request)
		},
	}},
	Streams: []grpc.StreamDesc{{
		StreamName:    "ListAndWatch",
		ServerStreams: true,
		Handler: func(srv any, stream grpc.ServerStream) error {
			var request message
			if err := stream.RecvMsg(&request); err != nil {
				return err
			}
			return srv.(*plug).listAndWatch(stream)
		},
	}},
}
