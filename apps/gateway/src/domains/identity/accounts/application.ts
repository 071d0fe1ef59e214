import { APPLICATION, type Application, ORGANIZATION } from '@berth/contract/account'
import { ACTIVATION_RESEND_WAIT_MS, LANGUAGES } from '@berth/contract/limits'
import { ApiError } from '../../../platform/http/api-error.ts'

/** Who owns the application and the organization in Casdoor's eyes. */
const OWNER = 'admin'

/** Names that the account calls may carry, of the application and of the organization. */
export interface AcceptedNames {
  application: readonly string[]
  organization: readonly string[]
}

/** The embedded identity's own names, which the console sends to every installation. */
const OUR_NAMES: AcceptedNames = { application: [APPLICATION], organization: [ORGANIZATION] }

/**
 * Says which names are taken.
 * @param source The identity service that keeps the accounts, whose own names are taken as well; null for none.
 */
export function acceptedNames(source: { application: string; organization: string } | null): AcceptedNames {
  if (!source) return OUR_NAMES
  return {
    application: [APPLICATION, source.application],
    organization: [ORGANIZATION, source.organization],
  }
}

/**
 * Checks the names that the account calls carry (R1.8).
 * @throws ApiError `validation_failed` at the field that names something else.
 */
export function checkNames(
  names: { application: string; organization?: string },
  accepted: AcceptedNames = OUR_NAMES,
): void {
  const { application, organization = ORGANIZATION } = names
  const fields = [
    ...(accepted.application.includes(application) ? [] : [{ path: 'application', rule: 'not_allowed' }]),
    ...(accepted.organization.includes(organization) ? [] : [{ path: 'organization', rule: 'not_allowed' }]),
  ]
  if (fields.length > 0) throw new ApiError('validation_failed', { fields })
}

/**
 * Finds an application by Casdoor's kind of id, `admin/<name>` (R3.2).
 * @param providers Services that one may sign in through, as they are listed.
 * @returns Null for one that is not there, as Casdoor answers.
 * @throws ApiError `validation_failed` when the id is not two names with one slash between them.
 */
export function findApplication(
  id: string,
  brandName: string,
  providers: Application['providers'],
): Application | null {
  const parts = id.split('/')
  if (parts.length !== 2) {
    throw new ApiError('validation_failed', { fields: [{ path: 'id', rule: 'not_allowed' }] })
  }
  return id === `${OWNER}/${APPLICATION}` ? describe(brandName, providers) : null
}

/** What an anonymous caller sees, in Casdoor's spelling. */
function describe(brandName: string, providers: Application['providers']): Application {
  return {
    owner: OWNER,
    name: APPLICATION,
    displayName: brandName,
    logo: '',
    title: '',
    favicon: '',
    homepageUrl: '',
    description: '',
    organization: ORGANIZATION,
    enableSignUp: true,
    disableSignin: false,
    enableAutoSignin: true,
    enableGuestSignin: false,
    enablePassword: true,
    enableCodeSignin: false,
    enableWebAuthn: false,
    signinMethods: [{ name: 'Password', displayName: 'Password', rule: 'All' }],
    signupItems: [
      signupItem('Display name', 'None'),
      signupItem('Email', 'No verification'),
      signupItem('Password', 'None'),
      signupItem('Confirm password', 'None'),
      signupItem('Agreement', 'None'),
    ],
    signinItems: [],
    providers,
    termsOfUse: '',
    signupUrl: '',
    signinUrl: '',
    forgetUrl: '',
    affiliationUrl: '',
    themeData: null,
    isShared: false,
    codeResendTimeout: ACTIVATION_RESEND_WAIT_MS / 1_000,
    clientId: APPLICATION,
    clientSecret: '***',
    organizationObj: {
      owner: OWNER,
      name: ORGANIZATION,
      displayName: brandName,
      logo: '',
      favicon: '',
      websiteUrl: '',
      // Casdoor's names for the rules that `newPassword` of the contract holds.
      passwordOptions: ['AtLeast8', 'Aa123', 'SpecialChar'],
      passwordObfuscatorType: '',
      passwordObfuscatorKey: '',
      passwordExpireDays: 0,
      languages: [...LANGUAGES],
      themeData: null,
      useEmailAsUsername: true,
      disableSignin: false,
    },
  }
}

function signupItem(name: string, rule: string) {
  return {
    name,
    visible: true,
    required: true,
    prompted: false,
    type: '',
    label: '',
    placeholder: '',
    regex: '',
    rule,
  }
}
