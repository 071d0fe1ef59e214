import type Docker from 'dockerode'
import type { MachineSpec } from '../port.ts'

export const INSTALLATION_LABEL = 'berth.installation'
export const INSTANCE_LABEL = 'berth.instance'

/** Most processes and threads that a machine may have, against fork bombs. */
const PROCESSES_MAX = 4096
const BYTES_PER_MB = 1024 * 1024

/** Output kept of a machine's command: two files of this size. */
const LOG_FILE_SIZE = '1m'
const LOG_FILES = '2'

/**
 * Rights that root in a container has by Docker's default and that no customer needs: raw packets (to spoof
 * neighbours), device nodes, and the means to give files or processes rights anew.
 */
const RIGHTS_DROPPED = ['NET_RAW', 'MKNOD', 'AUDIT_WRITE', 'SETFCAP', 'SETPCAP']

/**
 * The machine's main program. It runs the command in the background and then idles, so that the machine
 * lives on when the command ends, as a computer would. Asked to stop, it asks every process and waits for
 * the command. Docker's own init is the first process and reaps.
 */
const MAIN_SCRIPT = `
stop() { trap '' TERM INT; kill -TERM -1 2>/dev/null; wait; exit 0; }
trap stop TERM INT
if [ $# -gt 0 ]; then "$@" < /dev/null & fi
while :; do sleep 86400 & wait $!; done
`

/** How the containers and the network of one installation are called. */
export function createNames(installationId: string) {
  return {
    network: `berth-${installationId}`,
    container: (id: string) => `berth-${installationId}-${id}`,
  }
}

/** The container of a machine. `image` is what the engine knows of its image; `cpusMax` the engine's own. */
export function planContainer(options: {
  spec: MachineSpec
  installationId: string
  imageRef: string
  image: { entrypoint: string[]; command: string[] }
  cpusMax: number
}): Docker.ContainerCreateOptions {
  const { spec, installationId, image } = options
  const names = createNames(installationId)
  const ports = [...new Set(spec.ports)].map(port => `${port}/tcp`)
  const memory = spec.memory_mb * BYTES_PER_MB
  return {
    name: names.container(spec.id),
    Image: options.imageRef,
    Hostname: spec.hostname,
    Labels: { [INSTALLATION_LABEL]: installationId, [INSTANCE_LABEL]: spec.id },
    Env: Object.entries(spec.env).map(([key, value]) => `${key}=${value}`),
    Entrypoint: ['/bin/sh', '-c', MAIN_SCRIPT, 'berth'],
    // The image's own entry point stays in front, as `docker run` would have it.
    Cmd: [...image.entrypoint, ...(spec.command ?? image.command)],
    ExposedPorts: Object.fromEntries(ports.map(port => [port, {}])),
    HostConfig: {
      Init: true,
      NetworkMode: names.network,
      PortBindings: Object.fromEntries(ports.map(port => [port, [{ HostIp: '127.0.0.1', HostPort: '' }]])),
      Memory: memory,
      MemorySwap: memory,
      // PyTorch's loaders exchange tensors through shared memory; Docker's own 64 MB are not enough for them.
      ShmSize: Math.floor(memory / 2),
      NanoCpus: Math.round(Math.min(spec.cpu_count, options.cpusMax) * 1e9),
      PidsLimit: PROCESSES_MAX,
      SecurityOpt: ['no-new-privileges'],
      CapDrop: RIGHTS_DROPPED,
      LogConfig: { Type: 'json-file', Config: { 'max-size': LOG_FILE_SIZE, 'max-file': LOG_FILES } },
      // Whether a machine comes back after a reboot is for the gateway to decide.
      RestartPolicy: { Name: 'no' },
      ...(spec.gpu_uuids.length > 0
        ? { DeviceRequests: [{ Driver: 'nvidia', DeviceIDs: spec.gpu_uuids, Capabilities: [['gpu']] }] }
        : {}),
    },
  }
}
