import type { SourceProfile } from '../port.ts'
import type { CasdoorApplications } from './casdoor-applications.ts'
import { CASDOOR_TIMEOUT_MS, type CasdoorHttp } from './casdoor-http.ts'
import { notUnderstood } from './casdoor-refusals.ts'
import { type CasdoorUser, casdoorUser, profileOf } from './casdoor-user.ts'

/** Casdoor's update calls refuse a body whose name holds one of these, such as an address with a plus. */
const NAME_REFUSED = /[/?:#&%=+;]/

/** What the gateway changes of a user, and the columns that hold it: no other column is ever named. */
const COLUMNS = {
  displayName: 'display_name',
  emailVerified: 'email_verified',
  signinWrongTimes: 'signin_wrong_times',
} as const
type Change = { displayName?: string; emailVerified?: boolean; signinWrongTimes?: number }

/** Reads and changes users of one organization, as the application. */
export function createCasdoorUsers(deps: {
  http: CasdoorHttp
  organization: string
  applications: Pick<CasdoorApplications, 'assureCredentials' | 'customProvider'>
}) {
  const { http, organization, applications } = deps

  async function find(by: { userId: string } | { email: string }): Promise<CasdoorUser | null> {
    const answer = await http.ask({
      path: 'get-user',
      query: { owner: organization, ...by },
      as: 'application',
      address: null,
      timeoutMs: CASDOOR_TIMEOUT_MS.read,
    })
    if (answer.status === 'error') throw notUnderstood(answer, 'who a user is')
    // That somebody is gone ends sessions, so it must be certain.
    await applications.assureCredentials({ fresh: answer.data === null })
    if (answer.data === null) return null
    const user = casdoorUser.safeParse(answer.data)
    if (!user.success) throw notUnderstood(answer, 'who a user is')
    return user.data.owner === organization ? user.data : null
  }

  async function findById(id: string): Promise<CasdoorUser | null> {
    // Without an id, Casdoor would look by the organization alone.
    return id === '' ? null : await find({ userId: id })
  }

  return {
    async findById(id: string): Promise<SourceProfile | null> {
      const user = await findById(id)
      return user && profileOf(user, await applications.customProvider())
    },

    async findByEmail(email: string): Promise<SourceProfile | null> {
      const user = email === '' ? null : await find({ email })
      return user && profileOf(user, await applications.customProvider())
    },

    /** A user with every key that Casdoor gives; null for none. */
    findWhole: findById,

    /**
     * Changes columns of a user. The user goes along whole where it can, since versions before 3.50 take nothing
     * less; the columns named are the only ones that change.
     */
    async update({ id, owner, name }: SourceProfile, change: Change): Promise<void> {
      const user = NAME_REFUSED.test(name) ? {} : await findById(id)
      const columns = Object.keys(change).map(key => COLUMNS[key as keyof Change])
      const answer = await http.ask({
        path: 'update-user',
        query: { id: `${owner}/${name}`, columns: columns.join(',') },
        json: { ...user, ...change },
        as: 'application',
        address: null,
        timeoutMs: CASDOOR_TIMEOUT_MS.write,
      })
      if (answer.status === 'error') throw notUnderstood(answer, 'a change of a user')
    },

    /** Deletes a user; whether for good is the organization's setting. */
    async remove({ id }: SourceProfile): Promise<void> {
      const user = await findById(id)
      if (!user) return
      const answer = await http.ask({
        path: 'delete-user',
        // Casdoor takes what it deletes from the body.
        json: user,
        as: 'application',
        address: null,
        timeoutMs: CASDOOR_TIMEOUT_MS.write,
      })
      if (answer.status === 'error') throw notUnderstood(answer, 'the deletion of a user')
    },
  }
}
export type CasdoorUsers = ReturnType<typeof createCasdoorUsers>
