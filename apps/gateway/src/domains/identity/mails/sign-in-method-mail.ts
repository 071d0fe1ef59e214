import type { Language } from '@berth/contract/limits'
import type { MailContent } from '../../../drivers/mail/port.ts'
import { type MailText, writeMail } from '../../../platform/mail-text.ts'

/** What the texts are filled with. */
export interface SignInMethodMailValues {
  brand: string
  /** The other service, in the operator's words. */
  service: string
  /** The page of the settings. */
  link: string
}

type Change = 'linked' | 'unlinked'

/** The texts of the mail that tells an owner about a new or a lost way into the account. */
export const SIGN_IN_METHOD_TEXTS: Record<Change, Record<Language, MailText<SignInMethodMailValues>>> = {
  linked: {
    en: {
      subject: ({ brand, service }) => `${service} was linked to your ${brand} account`,
      body: ({ brand, service, link }) => [
        'Hello,',
        `From now on, ${service} signs in to the ${brand} account with this email address.`,
        'If it was not you, please unlink it and choose a new password here:',
        link,
        brand,
      ],
    },
    zh: {
      subject: ({ brand, service }) => `${service} 已关联到您的 ${brand} 账户`,
      body: ({ brand, service, link }) => [
        '您好！',
        `从现在起，可以使用 ${service} 登录此邮箱地址对应的 ${brand} 账户。`,
        '如果不是您本人操作，请在此处取消关联并设置新密码：',
        link,
        brand,
      ],
    },
    ja: {
      subject: ({ brand, service }) => `${service} が ${brand} アカウントに連携されました`,
      body: ({ brand, service, link }) => [
        'こんにちは。',
        `今後、このメールアドレスの ${brand} アカウントには ${service} でもログインできます。`,
        'お心当たりがない場合は、次のページで連携を解除し、新しいパスワードを設定してください。',
        link,
        brand,
      ],
    },
    ko: {
      subject: ({ brand, service }) => `${service} 서비스가 ${brand} 계정에 연결되었습니다`,
      body: ({ brand, service, link }) => [
        '안녕하세요.',
        `이제 ${service} 서비스로 이 이메일 주소의 ${brand} 계정에 로그인할 수 있습니다.`,
        '본인이 연결하지 않았다면 아래 페이지에서 연결을 해제하고 새 비밀번호를 설정해 주세요.',
        link,
        brand,
      ],
    },
  },
  unlinked: {
    en: {
      subject: ({ brand, service }) => `${service} was unlinked from your ${brand} account`,
      body: ({ brand, service, link }) => [
        'Hello,',
        `${service} no longer signs in to the ${brand} account with this email address.`,
        'If it was not you, please choose a new password and look at your sessions here:',
        link,
        brand,
      ],
    },
    zh: {
      subject: ({ brand, service }) => `${service} 已与您的 ${brand} 账户取消关联`,
      body: ({ brand, service, link }) => [
        '您好！',
        `${service} 已不能再用于登录此邮箱地址对应的 ${brand} 账户。`,
        '如果不是您本人操作，请在此处设置新密码并检查您的会话：',
        link,
        brand,
      ],
    },
    ja: {
      subject: ({ brand, service }) => `${service} と ${brand} アカウントの連携が解除されました`,
      body: ({ brand, service, link }) => [
        'こんにちは。',
        `このメールアドレスの ${brand} アカウントには、${service} ではログインできなくなりました。`,
        'お心当たりがない場合は、次のページで新しいパスワードを設定し、セッションをご確認ください。',
        link,
        brand,
      ],
    },
    ko: {
      subject: ({ brand, service }) => `${service} 서비스와 ${brand} 계정의 연결이 해제되었습니다`,
      body: ({ brand, service, link }) => [
        '안녕하세요.',
        `이제 ${service} 서비스로는 이 이메일 주소의 ${brand} 계정에 로그인할 수 없습니다.`,
        '본인이 해제하지 않았다면 아래 페이지에서 새 비밀번호를 설정하고 세션을 확인해 주세요.',
        link,
        brand,
      ],
    },
  },
}

/**
 * The mail that tells an owner that another service was linked or unlinked.
 * @param to The account's address.
 * @param language The customer's.
 */
export function signInMethodMail(
  to: string,
  language: Language,
  change: Change,
  values: SignInMethodMailValues,
): MailContent {
  return writeMail(to, SIGN_IN_METHOD_TEXTS[change][language], values)
}
