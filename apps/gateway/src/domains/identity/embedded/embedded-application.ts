import { APPLICATION, type Application, ORGANIZATION } from '@berth/contract/account'
import { ACTIVATION_RESEND_WAIT_MS, LANGUAGES } from '@berth/contract/limits'
import { OWNER } from '../accounts/application.ts'

/**
 * Describes the embedded identity's application as an anonymous caller sees it, in Casdoor's spelling.
 * @param providers Services that one may sign in through, as they are listed.
 */
export function describeEmbedded(brandName: string, providers: Application['providers']): Application {
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
