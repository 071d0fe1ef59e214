import type { DeployBody } from '@berth/contract/instances'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { ImageChoice } from '../../images/images.ts'
import { IMAGE_RULES, type Registries } from '../../registries/registries.ts'

/**
 * Which image a deploy or a check is about.
 * @throws ApiError `validation_failed` where it names none, or two.
 */
export function imageChoice(
  userId: string,
  body: Pick<DeployBody, 'image_id' | 'image_reference' | 'registry_credential_id'>,
): ImageChoice {
  const { image_id: imageId, image_reference: imageReference } = body
  if (imageId === null && imageReference === null) throw fault('image_id', 'required')
  if (imageId !== null && imageReference !== null) throw fault('image_reference', 'not_allowed')
  return { userId, imageId, imageReference, registryCredentialId: body.registry_credential_id }
}

/** What a registry says of an image: what there is to fetch, or the rule that a field of the form breaks. */
export type ImageLook = { sizeMb: number } | { path: string; rule: string }

/**
 * Asks the registry of a reference whether the image can be had. An image of the catalogue is the operator's affair.
 * @returns Null where nothing was asked: for the catalogue's, and where a customer has asked too often.
 */
export async function lookAtImage(
  registries: Pick<Registries, 'askImage'>,
  { userId, imageReference: reference, registryCredentialId: credentialId }: ImageChoice,
): Promise<ImageLook | null> {
  if (reference === null) return null
  try {
    const answer = await registries.askImage({ userId, reference, credentialId })
    if (answer.result === 'reachable') return { sizeMb: answer.sizeMb }
    return { path: 'image_reference', rule: IMAGE_RULES[answer.result] }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const [field] = error.fields ?? []
    // Where a customer has asked too often, the pull will say what there is to say, and costs nothing.
    return field ? { path: field.path, rule: field.rule } : null
  }
}

/** The error of a field that breaks a rule. */
export function fault(path: string, rule: string): ApiError {
  return new ApiError('validation_failed', { fields: [{ path, rule }] })
}
