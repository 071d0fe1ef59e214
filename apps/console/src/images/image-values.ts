import type { FieldRule } from '@berth/contract/errors'
import type { CustomImage } from '@berth/contract/images'
import { ports } from '@berth/contract/instances'
import { createImageBody, editImageBody, type ImageScene } from '@berth/contract/own-images'
import * as z from 'zod'
import { portsFromText, portsToText } from '../ui/ports-text.ts'

const { shape } = createImageBody

const said = {
  name: shape.name,
  description: shape.description,
  tags: shape.tags,
  region_code: shape.region_code,
  version_info: shape.version_info.unwrap(),
  preloaded_models: shape.preloaded_models.unwrap(),
  start_command: shape.start_command.unwrap(),
  http_ports: z.string().transform(portsFromText).pipe(ports),
  tcp_ports: z.string().transform(portsFromText).pipe(ports),
  min_vram_gb: z
    .union([z.number(), z.string()])
    .transform(value => (value === '' ? Number.NaN : Number(value)))
    .pipe(shape.min_vram_gb.unwrap()),
  readme: shape.readme,
  cover: z
    .string()
    .transform(cover => (cover === '' ? null : cover))
    .pipe(shape.cover.unwrap()),
}

/** What the form that changes an image holds: ports as text, which meet the call's own rules (R5.5). */
export const editForm = z.object({ id: editImageBody.shape.id, ...said })

const source = {
  instance_id: shape.instance_id.unwrap(),
  image_reference: shape.image_reference.unwrap(),
  dockerfile: shape.dockerfile.unwrap(),
  git: shape.git.unwrap(),
  registry_credential_id: shape.registry_credential_id.unwrap(),
  version_of: shape.version_of.unwrap(),
  kind: shape.kind.unwrap(),
}

/** What the form that makes one holds: where it is from besides. One of an instance is said which. */
export const createForms = {
  instance: z.object({
    ...source,
    instance_id: source.instance_id.refine(id => id !== null, 'required' satisfies FieldRule),
    ...said,
  }),
  registry: z.object({ ...source, ...said }),
  dockerfile: z.object({ ...source, ...said }),
}

/** What is said of an image, as the fields of a form hold it. */
export interface SaidValues extends Record<string, unknown> {
  name: string
  description: string
  tags: ImageScene[]
  region_code: string
  version_info: string
  preloaded_models: string
  start_command: string
  http_ports: string
  tcp_ports: string
  min_vram_gb: number | string
  readme: string
  /** Empty for none. */
  cover: string
}

/** A form in which nothing is said yet. */
export const NOTHING_SAID: SaidValues = {
  name: '',
  description: '',
  tags: [],
  region_code: '',
  version_info: '',
  preloaded_models: '',
  start_command: '',
  http_ports: '',
  tcp_ports: '',
  min_vram_gb: 0,
  readme: '',
  cover: '',
}

/**
 * What is said of an image that there is.
 * @param image The image.
 * @param readme Its README, which lists do not have.
 */
export function saidOf(image: CustomImage, readme: string): SaidValues {
  const { name, description, region_code, version_info, preloaded_models, start_command, min_vram_gb } = image
  return {
    ...{ name, description, version_info, preloaded_models, start_command, min_vram_gb, readme },
    region_code: region_code ?? '',
    cover: image.cover ?? '',
    tags: image.tags as ImageScene[],
    http_ports: portsToText(image.http_ports),
    tcp_ports: portsToText(image.tcp_ports),
  }
}
