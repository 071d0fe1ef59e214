import * as z from 'zod'
import { by, slug } from './fields.ts'
import { IMAGE_REFERENCE_CHARS_MAX } from './limits.ts'

/**
 * An image of a registry, as `docker pull` takes it: `[registry/]name[:tag][@sha256:…]`. The gateway looks closer at its
 * registry.
 */
export const imageReference = z
  .string(by('wrong_type'))
  .trim()
  .max(IMAGE_REFERENCE_CHARS_MAX, by('too_long'))
  .regex(
    /^([a-z0-9][a-z0-9.-]*(:\d{1,5})?\/)?[a-z0-9]+([._/-]+[a-z0-9]+)*(:\w[\w.-]{0,127})?(@sha256:[a-f0-9]{64})?$/,
    by('image_reference'),
  )

/** What a machine is made from: an image of the catalogue, or one of any registry; one of the two is given. */
export const imageChoiceFields = {
  image_id: slug.nullable().default(null),
  image_reference: imageReference.nullable().default(null),
  /** Which of the account's credentials is shown to the registry of a reference; null: none. */
  registry_credential_id: z.uuid(by('not_allowed')).nullable().default(null),
}
