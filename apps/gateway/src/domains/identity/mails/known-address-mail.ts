import type { Language } from '@berth/contract/limits'
import type { MailContent } from '../../../drivers/mail/port.ts'
import { type MailText, writeMail } from '../../../platform/mail-text.ts'

interface Values {
  brand: string
  /** The log-in page. */
  link: string
}

/** The texts of the mail to whoever has an account by an address that somebody signed up with. */
export const KNOWN_ADDRESS_TEXTS: Record<Language, MailText<Values>> = {
  en: {
    subject: ({ brand }) => `You have a ${brand} account already`,
    body: ({ brand, link }) => [
      'Hello,',
      `Somebody tried to sign up for ${brand} with this email address, which has an account already. Nothing was changed, and no other account was made.`,
      'If it was you, log in with the password of that account. If you do not know it any more, or it was set by somebody else, choose a new one by “Forgot it?” on the log-in page:',
      link,
      'If it was not you, there is nothing to do.',
      brand,
    ],
  },
  zh: {
    subject: ({ brand }) => `您已有 ${brand} 账户`,
    body: ({ brand, link }) => [
      '您好！',
      `有人尝试使用此邮箱地址注册 ${brand}，而该地址已有账户。账户未作任何更改，也没有创建其他账户。`,
      '如果是您本人操作，请使用该账户的密码登录。如果您不记得密码，或密码是由他人设置的，请在登录页面点击“忘记了？”重新设置：',
      link,
      '如果不是您本人操作，无需任何处理。',
      brand,
    ],
  },
  ja: {
    subject: ({ brand }) => `${brand} のアカウントはすでにあります`,
    body: ({ brand, link }) => [
      'こんにちは。',
      `このメールアドレスで ${brand} に登録しようとした方がいますが、このアドレスのアカウントはすでに存在します。変更は行われず、新しいアカウントも作成されていません。`,
      'ご本人の場合は、既存のアカウントのパスワードでログインしてください。パスワードをお忘れの場合や、ほかの人が設定した場合は、ログイン画面から新しいパスワードを設定してください。',
      link,
      'お心当たりがない場合は、何もする必要はありません。',
      brand,
    ],
  },
  ko: {
    subject: ({ brand }) => `이미 ${brand} 계정이 있습니다`,
    body: ({ brand, link }) => [
      '안녕하세요.',
      `누군가 이 이메일 주소로 ${brand}에 가입하려고 했지만 이 주소의 계정이 이미 있습니다. 변경된 내용은 없으며 다른 계정도 만들어지지 않았습니다.`,
      '본인이라면 기존 계정의 비밀번호로 로그인해 주세요. 비밀번호를 잊었거나 다른 사람이 설정한 비밀번호라면 로그인 페이지에서 새 비밀번호를 설정해 주세요.',
      link,
      '본인이 아니라면 아무것도 하지 않으셔도 됩니다.',
      brand,
    ],
  },
}

/**
 * The mail to whoever has an account by an address that somebody signed up with.
 * @param to The address.
 * @param language The customer's.
 */
export function knownAddressMail(to: string, language: Language, values: Values): MailContent {
  return writeMail(to, KNOWN_ADDRESS_TEXTS[language], values)
}
