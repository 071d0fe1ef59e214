import type Docker from 'dockerode'
import { CLOUD_LABEL, createNames } from './container-plan.ts'
import { orNull } from './docker-errors.ts'
import { ensureGuardImage, HOST_ROOT } from './guard-image.ts'

/** What counts or copies remembers each file that has several names: more than this is no reason to take the host's memory. */
const MEMORY_BYTES_MAX = 512 * 1024 * 1024
const PROCESSES_MAX = 16
const NANO_CPUS = 1_000_000_000
/** Of a log, before each piece of it. */
const STREAM_HEADER_BYTES = 8
const OUTPUT_CHARS_MAX = 2_000

/** One errand beside volumes. */
export interface VolumeErrand {
  /** The volume that it is for: an errand that a dead gateway has left for it is ended first. */
  id: string
  /** What its shell runs. */
  script: string
  mounts: readonly { volume: string; at: string; readOnly: boolean }[]
  /** The rights over files that it needs, and no others. */
  rights: readonly string[]
  /** After which it is killed. */
  timeoutMs: number
  /** Kills it. */
  signal?: AbortSignal
}

/** How an errand ended: null where it was killed, for its time, its memory or its caller. */
export interface ErrandEnd {
  exitCode: number | null
  output: string
}

/**
 * Does errands beside volumes where the engine is: a short-lived container of the guard's image, which runs the programs of the
 * engine's own computer, with no network and few rights. So it works on engines of other computers, too, and no byte of a volume
 * passes through the gateway.
 * @param deps.runtime What runs it; left out for the engine's own choice.
 */
export function createVolumeHelper(deps: { docker: Docker; cloudId: string; runtime: string | undefined }) {
  const { docker, cloudId, runtime } = deps
  const names = createNames(cloudId)

  /** @throws What dockerode throws. */
  return async ({ id, script, mounts, rights, timeoutMs, signal }: VolumeErrand): Promise<ErrandEnd> => {
    await ensureGuardImage(docker, names.guardImage)
    const name = names.errand(id)
    await orNull(docker.getContainer(name).remove({ force: true }))
    const container = await docker.createContainer({
      name,
      Image: `${names.guardImage.repo}:${names.guardImage.tag}`,
      Labels: { [CLOUD_LABEL]: cloudId },
      Entrypoint: ['/bin/sh', '-c', `exec nice -n 10 /bin/sh -c '${script}'`],
      HostConfig: {
        ...(runtime === undefined ? {} : { Runtime: runtime }),
        NetworkMode: 'none',
        // Files of machines belong to users of the engine's computer.
        UsernsMode: 'host',
        ReadonlyRootfs: true,
        CapDrop: ['ALL'],
        CapAdd: [...rights],
        // Without labels of SELinux it could not read the programs.
        SecurityOpt: ['no-new-privileges', 'label=disable'],
        Mounts: [
          { Type: 'bind', Source: '/', Target: HOST_ROOT, ReadOnly: true },
          ...mounts.map(({ volume, at, readOnly }) => ({
            Type: 'volume' as const,
            Source: names.volume(volume),
            Target: at,
            ReadOnly: readOnly,
            // Nothing of the guard's own image is copied into it.
            VolumeOptions: { NoCopy: true, Labels: {}, DriverConfig: { Name: 'local', Options: {} } },
          })),
        ],
        Memory: MEMORY_BYTES_MAX,
        NanoCpus: NANO_CPUS,
        PidsLimit: PROCESSES_MAX,
        LogConfig: { Type: 'json-file', Config: { 'max-size': '64k', 'max-file': '1' } },
      },
    })
    let isKilled = false
    const kill = () => {
      isKilled = true
      container.kill().catch(() => undefined)
    }
    const timer = setTimeout(kill, timeoutMs)
    signal?.addEventListener('abort', kill, { once: true })
    try {
      const ended = container.wait({ condition: 'next-exit' }) as Promise<{ StatusCode: number }>
      const [{ StatusCode }] = await Promise.all([ended, container.start()])
      const { State } = await container.inspect()
      const output = isKilled ? '' : saidIn(await container.logs({ stdout: true, stderr: true }))
      return { exitCode: isKilled || State.OOMKilled ? null : StatusCode, output }
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', kill)
      await container.remove({ force: true }).catch(() => undefined)
    }
  }
}

export type VolumeHelper = ReturnType<typeof createVolumeHelper>

/** What a container without a terminal has said: pieces, each behind a header that ends with its length. */
function saidIn(log: Buffer): string {
  let said = ''
  for (let at = 0; at + STREAM_HEADER_BYTES <= log.length; ) {
    const from = at + STREAM_HEADER_BYTES
    at = from + log.readUInt32BE(at + STREAM_HEADER_BYTES / 2)
    said += log.toString('utf8', from, at)
  }
  return said.slice(0, OUTPUT_CHARS_MAX)
}
