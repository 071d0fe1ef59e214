import { APPLICATION, type Application, ORGANIZATION } from '@berth/contract/account'
import type { IdentitySource } from '../../../drivers/identity/port.ts'
import { ApiError } from '../../../platform/http/api-error.ts'

/** Who owns the application and the organization in Casdoor's eyes. */
export const OWNER = 'admin'

/** The application as whoever keeps the accounts has it. */
export type KeptApplication = Pick<IdentitySource, 'organization' | 'application' | 'describeApplication'>

/**
 * The application that customers sign in to: its description, and which names the account calls may carry (R1.8). The
 * console sends the same names to every installation; those of whoever keeps the accounts are taken as well.
 * @param keeper Who keeps the accounts.
 */
export function createApplication(keeper: KeptApplication) {
  const applications = [APPLICATION, keeper.application]
  const organizations = [ORGANIZATION, keeper.organization]
  return {
    /** @throws ApiError `validation_failed` at the field that names something else. */
    checkNames({ application, organization }: { application: string; organization?: string }): void {
      const fields = [
        ...(applications.includes(application) ? [] : [{ path: 'application', rule: 'not_allowed' }]),
        ...(organization === undefined || organizations.includes(organization)
          ? []
          : [{ path: 'organization', rule: 'not_allowed' }]),
      ]
      if (fields.length > 0) throw new ApiError('validation_failed', { fields })
    },

    /**
     * Finds an application by Casdoor's kind of id, `admin/<name>` (R3.2).
     * @returns Null for one that is not there, as Casdoor answers.
     * @throws ApiError `validation_failed` when the id is not two names with one slash between them.
     */
    async find(id: string): Promise<Application | null> {
      const [owner = '', name, ...rest] = id.split('/')
      if (name === undefined || rest.length > 0) {
        throw new ApiError('validation_failed', { fields: [{ path: 'id', rule: 'not_allowed' }] })
      }
      return owner === OWNER && applications.includes(name) ? await keeper.describeApplication() : null
    },
  }
}
