import { APPLICATION, type Application, ORGANIZATION } from '@berth/contract/account'
import { ACTIVATION_RESEND_WAIT_MS, LANGUAGES } from '@berth/contract/limits'
import { ApiError } from '../../platform/http/api-error.ts'

/** Who owns the application and the organization in Casdoor's eyes. */
const OWNER = 'admin'

/**
 * Checks the names that the account calls carry (R1.8).
 * @throws ApiError `validation_failed` at the field that names something else.
 */
export function checkNames(names: { application: string; organization?: string }): void {
  const { application, organization = ORGANIZATION } = names
  const fields = [
    ...(application === APPLICATION ? [] : [{ path: 'application', rule: 'not_allowed' }]),
    ...(organization === ORGANIZATION ? [] : [{ path: 'organization', rule: 'not_allowed' }]),
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
