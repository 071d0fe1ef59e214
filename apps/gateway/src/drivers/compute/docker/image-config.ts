import { z } from 'zod'
import { MEDIA_TYPES } from '../../../platform/image-layout/layout.ts'
import { readOrigin } from './container-plan.ts'

/** Labels of ours, which say something of one engine alone. */
const OURS = 'berth.'
/** So that two images of the same content are two for the engine, which each go by themselves. */
const IMAGE_LABEL = 'berth.image'

const texts = z.array(z.string()).nullish()

/** What an image says of itself; of its fields, those that go along when it leaves. */
const configSchema = z.object({
  os: z.literal('linux'),
  architecture: z.string(),
  variant: z.string().optional(),
  created: z.string().optional(),
  config: z
    .object({
      User: z.string().nullish(),
      WorkingDir: z.string().nullish(),
      StopSignal: z.string().nullish(),
      Volumes: z.record(z.string(), z.object({})).nullish(),
      Labels: z.record(z.string(), z.string()).nullish(),
      Entrypoint: texts,
      Cmd: texts,
      Env: texts,
    })
    .nullish(),
  rootfs: z.object({ type: z.literal('layers'), diff_ids: z.array(z.string()) }),
})
type ImageConfig = z.infer<typeof configSchema>

/** Media types of what an image says of itself, as OCI and Docker have it. */
export const CONFIG_TYPES: ReadonlySet<string> = new Set([
  MEDIA_TYPES.config,
  'application/vnd.docker.container.image.v1+json',
])

/** Reads what an image says of itself; null where it cannot run here. */
export function readConfig(bytes: Buffer): ImageConfig | null {
  try {
    return configSchema.parse(JSON.parse(bytes.toString('utf8')))
  } catch {
    return null
  }
}

/**
 * What an image says of itself when it leaves its engine: what the machine's own image said, so that it starts elsewhere
 * as that does. Of the machine that it was made from it holds neither environment nor command, and no history, in which
 * both stand.
 */
export function leavingConfig(image: ImageConfig): Buffer {
  const { os, architecture, variant, created, rootfs } = image
  const said = image.config ?? {}
  const labels = said.Labels ?? {}
  const origin = readOrigin(labels)
  const config = {
    ...given('User', said.User),
    ...given('WorkingDir', said.WorkingDir),
    ...given('StopSignal', said.StopSignal),
    ...given('Volumes', said.Volumes),
    Entrypoint: origin?.entrypoint ?? said.Entrypoint ?? [],
    Cmd: origin?.command ?? said.Cmd ?? [],
    Env: origin?.env ?? said.Env ?? [],
    Labels: withoutOurs(labels),
  }
  const { type, diff_ids } = rootfs
  return Buffer.from(
    JSON.stringify({
      ...given('created', created),
      architecture,
      ...given('variant', variant),
      os,
      config,
      rootfs: { type, diff_ids },
    }),
  )
}

/** The same of one that comes to an engine: none of its labels may say that it is somebody's here. */
export function comingConfig(image: ImageConfig, imageId: string): Buffer {
  const Labels = { ...withoutOurs(image.config?.Labels ?? {}), [IMAGE_LABEL]: imageId }
  return Buffer.from(JSON.stringify({ ...image, config: { ...image.config, Labels } }))
}

function withoutOurs(labels: Record<string, string>): Record<string, string> {
  const others = Object.entries(labels).filter(([name]) => !name.startsWith(OURS))
  return Object.fromEntries(others.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** A field where it says something. */
function given(name: string, value: unknown): Record<string, unknown> {
  const isEmpty = value === undefined || value === null || value === ''
  return isEmpty ? {} : { [name]: value }
}
