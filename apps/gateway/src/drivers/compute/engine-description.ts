import { isIP } from 'node:net'
import { z } from 'zod'

const PATH_LENGTH_MAX = 4_096
const URL_LENGTH_MAX = 512

const pathField = z.string().min(1).max(PATH_LENGTH_MAX)
/** As the daemon's own `daemon.json` names runtimes. */
const RUNTIME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/
const HOST_KEY = /^SHA256:[A-Za-z0-9+/]{43}=?$/

/** Whatever this computer can run: Docker where its socket answers, else sandboxes. */
const auto = z.strictObject({ driver: z.literal('auto') })

const sandbox = z.strictObject({
  driver: z.literal('sandbox'),
  /** A folder for that host's machines alone; without it, one in the gateway's data folder. */
  dir: pathField.optional(),
})

const qemu = z.strictObject({
  driver: z.literal('qemu'),
  /** A folder for that engine's virtual machines alone. */
  dir: pathField,
})

const bucket = z.strictObject({
  driver: z.literal('bucket'),
  /**
   * A file with one line, `s3+https://key:password@host/bucket?region=…`: it keeps volumes of objects and makes no machines. The
   * bucket is there; each volume is one beside it.
   */
  place_file: pathField,
})

const docker = z
  .strictObject({
    driver: z.literal('docker'),
    /** `unix:///path`, `tcp://host:port` or `ssh://user@host:port`; without it, the usual sockets of this computer. */
    url: z.string().max(URL_LENGTH_MAX).optional(),
    /** For `tcp`: files in PEM. */
    ca_file: pathField.optional(),
    cert_file: pathField.optional(),
    /** For `tcp`, the certificate's key; for `ssh`, the user's private key, without a passphrase. */
    key_file: pathField.optional(),
    /** For `ssh`: the server's key, as `ssh-keygen -l` prints it. */
    host_key: z.string().regex(HOST_KEY, 'must look like SHA256:…, as ssh-keygen -l prints it').optional(),
    /** For `tcp`: the address of the engine's computer that machines' ports are published on. */
    publish_address: z.string().refine(isOneAddress, 'must be one address, such as 10.0.0.2').optional(),
    /** What runs machines, of those that the daemon knows, such as `runsc`, `kata` or `nvidia`; without it, the daemon's own choice. */
    runtime: z.string().regex(RUNTIME, 'must be the name of a runtime, such as runsc').optional(),
  })
  .superRefine((described, context) => {
    const complain = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message })
    const place = placeOf(described.url)
    if (place === null) {
      return complain('url', 'must be unix:///path, tcp://host:port or ssh://user@host:port')
    }
    for (const field of FIELDS) {
      const isWanted = WANTED[place.kind].includes(field)
      if (isWanted && described[field] === undefined) complain(field, `is needed with ${place.kind}://`)
      if (!isWanted && described[field] !== undefined) complain(field, `means nothing with ${place.kind}://`)
    }
  })

/** As the API names objects, and labels of nodes. */
const NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/
const LABEL_NAME = /^([a-z0-9.-]{1,253}\/)?[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/
const LABEL_VALUE = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/
const CONTEXT_LENGTH_MAX = 256
const COUNT_MAX = 1_000_000

const nameField = z.string().regex(NAME, 'must be the name of an object of the cluster')
const labelField = z.string().regex(LABEL_NAME, 'must be the name of a label')
const countField = z.int().min(0).max(COUNT_MAX)

const kubernetes = z
  .strictObject({
    driver: z.literal('kubernetes'),
    /** A file that says where the cluster is, and by what the gateway is let in. */
    kubeconfig: pathField.optional(),
    /** Which of its contexts; without it, the current one. */
    context: z.string().min(1).max(CONTEXT_LENGTH_MAX).optional(),
    /** The gateway is a pod of the cluster: it goes by its service account, and reaches machines by their addresses. */
    in_cluster: z.literal(true).optional(),
    /** By which machines' disks are made; without it, the cluster's own choice. */
    storage_class: nameField.optional(),
    /** By which volumes are made; without it, as disks are. */
    volume_class: nameField.optional(),
    /** Whether that class gives a volume to machines on several nodes (ReadWriteMany). */
    shared_volumes: z.boolean().default(false),
    /** By which snapshots of volumes are made, of the same storage; without it, volumes are not copied. */
    snapshot_class: nameField.optional(),
    /** Whether those classes hold what is stored to its size: Kubernetes does not tell. */
    sizes_enforced: z.boolean().default(false),
    /** What runs machines, such as `gvisor` or `kata`; without it, the nodes' own choice. */
    runtime_class: nameField.optional(),
    /** How machines stand to other pods where a node is full; without it, as those that nobody gave a class. */
    priority_class: nameField.optional(),
    /** Users of their own for each machine, which nodes need a new containerd for. */
    user_namespaces: z.boolean().default(false),
    /** By which nodes say what GPUs they have. */
    gpu_label: labelField.default('nvidia.com/gpu.product'),
    /** NVIDIA's exporter of what GPUs do (DCGM); without it, nobody knows how busy they are. */
    gpu_exporter: z
      .strictObject({
        namespace: nameField.default('gpu-operator'),
        labels: z.record(labelField, z.string().regex(LABEL_VALUE)).default({ app: 'nvidia-dcgm-exporter' }),
        port: z.int().min(1).max(65_535).default(9_400),
      })
      .optional(),
    /** What nodes that take machines are labelled with; without it, all do. */
    node_selector: z.record(labelField, z.string().regex(LABEL_VALUE)).default({}),
    /** Whether the cluster's network holds policies: Kubernetes does not tell. */
    network_policies: z.enum(['enforced', 'unknown']).default('unknown'),
    /** Where gateways are, that reach machines by their addresses. */
    gateway_namespace: nameField.optional(),
    /** Whether customers name images of any registry: nodes then go wherever such a one sends them, whatever network they are in. */
    customer_images: z.enum(['allowed', 'refused']).default('refused'),
    /** A registry of the operator's own, at which images that are made of machines lie, and from which nodes pull them. */
    image_registry: z
      .strictObject({
        /** A file with one line, `https://user:password@host:port/repository`: by that the gateway sends, reads and deletes there. */
        place_file: pathField,
        /** A file with one line, `user:password`: what nodes pull by; without it, the registry lets everybody pull. */
        pull_file: pathField.optional(),
        /** How much of the gateway's own disk images may take while they are made, each of four at once a quarter; without it, all. */
        scratch_gb: z.int().min(1).max(COUNT_MAX).optional(),
      })
      .optional(),
    /** What counts how much volumes hold: it has a shell and `du`. */
    helper_image: z.string().min(1).max(URL_LENGTH_MAX).default('busybox:1.36'),
    /** What the machines of one customer may have, all together. */
    customer_quota: z
      .strictObject({
        pods: countField.optional(),
        gpus: countField.optional(),
        disk_gb: countField.optional(),
      })
      .default({}),
  })
  .superRefine(({ kubeconfig, context, in_cluster, gateway_namespace }, issues) => {
    const complain = (path: string, message: string) =>
      issues.addIssue({ code: 'custom', path: [path], message })
    if ((kubeconfig === undefined) === (in_cluster === undefined))
      complain('kubeconfig', 'must be given, or in_cluster: true, and not both')
    if (context !== undefined && in_cluster) complain('context', 'means nothing with in_cluster')
    if (in_cluster && gateway_namespace === undefined)
      complain('gateway_namespace', 'is needed with in_cluster: machines let in nobody else')
  })

const FIELDS = ['ca_file', 'cert_file', 'key_file', 'host_key', 'publish_address'] as const
const WANTED: Record<'unix' | 'tcp' | 'ssh', readonly (typeof FIELDS)[number][]> = {
  unix: [],
  // An engine that asks nobody for a certificate makes everybody who reaches it root on its computer.
  tcp: ['ca_file', 'cert_file', 'key_file', 'publish_address'],
  ssh: ['key_file', 'host_key'],
}

/** How an operator says where an engine is: one entry of the catalogue. Paths count from where the caller says. */
export const engineDescriptionSchema = z.discriminatedUnion('driver', [
  auto,
  sandbox,
  qemu,
  bucket,
  docker,
  kubernetes,
])
export type EngineDescription = z.infer<typeof engineDescriptionSchema>

const TLS_PORT = 2376
const SSH_PORT = 22
const DOCKER_SOCKET = '/var/run/docker.sock'

export type UrlPlace =
  | { kind: 'unix'; socket_path: string | null }
  | { kind: 'tcp'; host: string; port: number }
  | { kind: 'ssh'; host: string; port: number; user: string; socket_path: string }

/** Takes an engine's url apart; without one the engine is on this computer. Null for what is no such url. */
export function placeOf(url: string | undefined): UrlPlace | null {
  if (url === undefined) return { kind: 'unix', socket_path: null }
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (!parsed || parsed.search || parsed.hash || parsed.password) return null
  // Addresses of IPv6 stand in brackets in a url, and without them everywhere else.
  const host = parsed.hostname.replace(/^\[|\]$/g, '')
  const path = decodeURIComponent(parsed.pathname)
  const port = (usual: number) => (parsed.port === '' ? usual : Number(parsed.port))
  switch (parsed.protocol) {
    case 'unix:':
      return host === '' && path.length > 1 ? { kind: 'unix', socket_path: path } : null
    case 'tcp:':
      return host !== '' && path === '' && parsed.username === ''
        ? { kind: 'tcp', host, port: port(TLS_PORT) }
        : null
    case 'ssh:':
      return host !== '' && parsed.username !== ''
        ? {
            kind: 'ssh',
            host,
            port: port(SSH_PORT),
            user: decodeURIComponent(parsed.username),
            socket_path: path === '' || path === '/' ? DOCKER_SOCKET : path,
          }
        : null
    default:
      return null
  }
}

/** Every address at once is refused: it would hold what the operator has not thought of. */
function isOneAddress(text: string): boolean {
  return isIP(text) !== 0 && text !== '0.0.0.0' && !/^[0:]+$/.test(text)
}
