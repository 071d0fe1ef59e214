import type { Language } from '@berth/contract/limits'
import type { MailContent } from '../../../drivers/mail/port.ts'
import { type MailText, writeMail } from '../../../platform/mail-text.ts'

interface Values {
  brand: string
  code: string
  /** How long it works. */
  minutes: number
}

/**
 * The texts of the mail with the code that confirms who has a session. The code is not in the subject, which lies open on a
 * locked screen.
 */
export const SIGN_IN_CODE_TEXTS: Record<Language, MailText<Values>> = {
  en: {
    subject: ({ brand }) => `Your ${brand} confirmation code`,
    body: ({ brand, code, minutes }) => [
      'Hello,',
      `Somebody who is signed in to your ${brand} account wants to do something that asks for a confirmation. If it is you, type this code where you were asked for it:`,
      code,
      `It works once, within ${minutes} minutes. Nobody of ours ever asks for it.`,
      'If it was not you, somebody has a session of your account. Log in and end the other sessions in the settings under Sessions.',
      brand,
    ],
  },
  zh: {
    subject: ({ brand }) => `您的 ${brand} 确认码`,
    body: ({ brand, code, minutes }) => [
      '您好！',
      `有人已登录您的 ${brand} 账户，并要执行一项需要确认身份的操作。如果是您本人，请在提示处输入以下确认码：`,
      code,
      `该确认码在 ${minutes} 分钟内有效，且只能使用一次。我们的工作人员绝不会向您索要。`,
      '如果不是您本人操作，说明有人持有您账户的会话。请登录，并在设置的“会话”中结束其他会话。',
      brand,
    ],
  },
  ja: {
    subject: ({ brand }) => `${brand} の確認コード`,
    body: ({ brand, code, minutes }) => [
      'こんにちは。',
      `${brand} アカウントにログイン中の方が、本人確認の必要な操作をしようとしています。ご本人であれば、次のコードを入力欄に入力してください。`,
      code,
      `コードは ${minutes} 分以内に 1 回だけ使用できます。当社の担当者がコードをお尋ねすることはありません。`,
      'お心当たりがない場合は、ほかの人がアカウントのセッションを使用しています。ログインして、設定の「セッション」からほかのセッションを終了してください。',
      brand,
    ],
  },
  ko: {
    subject: ({ brand }) => `${brand} 확인 코드`,
    body: ({ brand, code, minutes }) => [
      '안녕하세요.',
      `${brand} 계정에 로그인한 사람이 본인 확인이 필요한 작업을 하려고 합니다. 본인이라면 요청받은 곳에 아래 코드를 입력해 주세요.`,
      code,
      `이 코드는 ${minutes}분 이내에 한 번만 사용할 수 있습니다. 저희 직원은 코드를 절대 묻지 않습니다.`,
      '본인이 아니라면 다른 사람이 계정의 세션을 사용하고 있는 것입니다. 로그인한 후 설정의 “세션”에서 다른 세션을 종료해 주세요.',
      brand,
    ],
  },
}

/**
 * The mail with the code that confirms who has a session.
 * @param to The account's address.
 * @param language The customer's.
 */
export function signInCodeMail(to: string, language: Language, values: Values): MailContent {
  return writeMail(to, SIGN_IN_CODE_TEXTS[language], values)
}
