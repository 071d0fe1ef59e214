import type { FieldRule } from '@berth/contract/errors'
import { parseReference } from '../../drivers/compute/port/image-reference.ts'
import type { RegistryAccess } from '../../drivers/compute/port/registry-access.ts'
import type { Clock } from '../../platform/clock.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { askImage, type ImageAnswer } from './ask-image.ts'
import type { RegistryLogin } from './ask-registry.ts'
import type { createCheckLimit } from './check-limit.ts'
import { createImageAnswers } from './image-answers.ts'
import type { Outbound } from './outbound.ts'
import { isFor, pullAccess } from './pull-access.ts'
import type { registryCredential } from './tables.ts'

type Row = typeof registryCredential.$inferSelect

interface CustomerImagesDeps {
  clock: Clock
  outbound: Outbound
  limit: ReturnType<typeof createCheckLimit>
  /** One of a customer's credentials; null where it is not there. */
  find: (userId: string, id: string) => Promise<Row | null>
  list: (userId: string) => Promise<Row[]>
  loginOf: (row: Row) => RegistryLogin
}

/** An image as a customer names it. */
export interface WantedImage {
  userId: string
  reference: string
  /** The credential that its registry is shown; null: none. */
  credentialId: string | null
}

/** Images of any registry, which customers name. */
export function createCustomerImages({ clock, outbound, limit, find, list, loginOf }: CustomerImagesDeps) {
  const answers = createImageAnswers({ clock })
  const chosen = (userId: string, id: string | null) => (id === null ? null : find(userId, id))

  return {
    /**
     * Asks the registry of a reference for the image, with the credential that was chosen. What it said is kept for a
     * moment, since a form asks as it is filled in.
     * @throws ApiError `validation_failed` with a rule of `image_reference` or `registry_credential_id`, or
     *   `too_many_requests`.
     */
    async askImage({ userId, reference: text, credentialId }: WantedImage): Promise<ImageAnswer> {
      const reference = parseReference(text)
      if (!reference) throw fault('image_reference', 'image_reference')
      const row = await chosen(userId, credentialId)
      if (credentialId !== null && !row) throw fault('registry_credential_id', 'not_allowed')
      if (row && !isFor(row, reference.host)) throw fault('registry_credential_id', 'registry_mismatch')
      const { host, repository, version } = reference
      const key = [userId, host, repository, version, credentialId, row?.updatedAt.getTime()].join(' ')
      const login = row && loginOf(row)
      return answers.of(key, () => limit.run(userId, () => askImage(outbound, { reference, login })))
    },

    /** What pulls of a customer's image may show to its registry. */
    pullAccess({ userId, credentialId }: Omit<WantedImage, 'reference'>): RegistryAccess {
      return pullAccess({
        outbound,
        wantsLogin: credentialId !== null,
        async chosen() {
          const row = await chosen(userId, credentialId)
          return row && loginOf(row)
        },
        others: async () => (await list(userId)).map(loginOf),
      })
    },
  }
}

function fault(path: string, rule: FieldRule): ApiError {
  return new ApiError('validation_failed', { fields: [{ path, rule }] })
}
