import type { Language } from '@berth/contract/limits'
import type { ReferralNews } from '../../referral/events.ts'
import type { NoticeTexts } from './notice-mail.ts'

interface Values {
  news: ReferralNews
  /** Such as `2026-Q4`; empty of what belongs to none. */
  quarter: string
  /** With their currency's sign: what it is about, and the fee; empty where there is none. */
  amount: string
  fee: string
  /** Until when it is chosen, or when it is paid; empty. */
  until: string
  /** The friend with a masked address, or the PayPal account; empty. */
  about: string
}

type Say = (values: Values) => { subject: string; body: string }
type Said = Record<ReferralNews, Say>

const EN: Said = {
  earned: ({ amount, about }) => ({
    subject: `${amount} for a friend’s first top-ups`,
    body: `A friend who signed up through your link${about === '' ? '' : ` (${about})`} has topped up enough: ${amount} is yours, and part of what this quarter is settled with.`,
  }),
  choose: ({ quarter, amount, until }) => ({
    subject: `${quarter} is over: how do you want ${amount}?`,
    body: `You have earned ${amount} by ${quarter}. Choose until ${until} how it is paid: as a bonus in credits, without a fee, or as money by PayPal, less a fee. Without a choice it becomes a bonus.`,
  }),
  reminder: ({ quarter, amount, until }) => ({
    subject: `Choose until ${until} how ${quarter} is paid`,
    body: `${amount} of ${quarter} still waits for your choice, or for a confirmed PayPal account. On ${until} it becomes a bonus in credits.`,
  }),
  credited: ({ quarter, amount }) => ({
    subject: `${amount} in credits for ${quarter}`,
    body: `What you earned by ${quarter} was settled as a bonus: ${amount} in credits is in your balance. It pays for anything here and has no end.`,
  }),
  scheduled: ({ quarter, amount, fee, until, about }) => ({
    subject: `${amount} for ${quarter} is paid on ${until}`,
    body: `As you chose, ${amount} for ${quarter} goes to the PayPal account ${about} from ${until} on; the fee is ${fee}. Until then the account stays as it is, and you can still choose the bonus.`,
  }),
  paid: ({ quarter, amount, fee, about }) => ({
    subject: `${amount} for ${quarter} was paid`,
    body: `${amount} for ${quarter} was paid to the PayPal account ${about}; the fee was ${fee}.`,
  }),
  failed: ({ quarter, amount, until, about }) => ({
    subject: `${amount} for ${quarter} did not arrive`,
    body: `The payment of ${amount} for ${quarter} to the PayPal account ${about} did not arrive. Nothing is lost: check the account or choose the bonus, until ${until}. Without a choice it becomes a bonus.`,
  }),
  paypal_changed: ({ about }) => ({
    subject: 'Another PayPal account',
    body: `What you earn by referring is to be paid to the PayPal account ${about} from now on, once it is confirmed by the mail that went there. If this was not you, remove it and end other sessions in the settings.`,
  }),
}

const ZH: Said = {
  earned: ({ amount, about }) => ({
    subject: `好友首次充值，您获得 ${amount}`,
    body: `通过您的链接注册的好友${about === '' ? '' : `（${about}）`}已达到充值金额：您获得 ${amount}，将计入本季度结算。`,
  }),
  choose: ({ quarter, amount, until }) => ({
    subject: `${quarter} 已结束：您希望如何领取 ${amount}？`,
    body: `截至 ${quarter}，您已获得 ${amount}。请在 ${until} 之前选择领取方式：免手续费的赠金，或通过 PayPal 领取现金（收取手续费）。如未选择，将自动转为赠金。`,
  }),
  reminder: ({ quarter, amount, until }) => ({
    subject: `请在 ${until} 之前选择 ${quarter} 的领取方式`,
    body: `${quarter} 的 ${amount} 仍在等待您的选择，或等待确认 PayPal 账户。${until} 将自动转为您的赠金。`,
  }),
  credited: ({ quarter, amount }) => ({
    subject: `${quarter}：${amount} 赠金已到账`,
    body: `您截至 ${quarter} 的收益已结算为赠金：${amount} 已计入您的余额，可用于任何服务，永久有效。`,
  }),
  scheduled: ({ quarter, amount, fee, until, about }) => ({
    subject: `${quarter} 的 ${amount} 将于 ${until} 支付`,
    body: `按照您的选择，${quarter} 的 ${amount} 将从 ${until} 起支付到 PayPal 账户 ${about}，手续费为 ${fee}。在此之前账户不可更改，您仍可改选赠金。`,
  }),
  paid: ({ quarter, amount, fee, about }) => ({
    subject: `${quarter} 的 ${amount} 已支付`,
    body: `${quarter} 的 ${amount} 已支付到您的 PayPal 账户 ${about}，手续费为 ${fee}。`,
  }),
  failed: ({ quarter, amount, until, about }) => ({
    subject: `${quarter} 的 ${amount} 未能到账`,
    body: `${quarter} 的 ${amount} 未能支付到 PayPal 账户 ${about}。款项不会丢失：请在 ${until} 之前检查您的账户或改选赠金。如未选择，将自动转为赠金。`,
  }),
  paypal_changed: ({ about }) => ({
    subject: 'PayPal 账户已更改',
    body: `在通过发往该地址的邮件确认之后，您的推荐收益将支付到 PayPal 账户 ${about}。如果不是您本人操作，请移除该账户，并在设置中结束其他会话。`,
  }),
}

const JA: Said = {
  earned: ({ amount, about }) => ({
    subject: `ご紹介の方の初回チャージで ${amount} を獲得しました`,
    body: `あなたのリンクから登録した方${about === '' ? '' : `（${about}）`}のチャージが条件に達しました。${amount} はこの四半期の精算に加わります。`,
  }),
  choose: ({ quarter, amount, until }) => ({
    subject: `${quarter} が終わりました: ${amount} の受け取り方をお選びください`,
    body: `${quarter} までに ${amount} を獲得しました。${until} までに受け取り方をお選びください。手数料なしのクレジット（ボーナス）か、手数料を差し引いた PayPal での現金です。お選びがない場合はボーナスになります。`,
  }),
  reminder: ({ quarter, amount, until }) => ({
    subject: `${quarter} の受け取り方を ${until} までにお選びください`,
    body: `${quarter} の ${amount} は、受け取り方の選択または PayPal アカウントの確認を待っています。${until} にクレジットのボーナスになります。`,
  }),
  credited: ({ quarter, amount }) => ({
    subject: `${quarter} 分として ${amount} のクレジットを付与しました`,
    body: `${quarter} までの報酬をボーナスとして精算しました。${amount} のクレジットが残高に加わっています。どのサービスにも使え、期限はありません。`,
  }),
  scheduled: ({ quarter, amount, fee, until, about }) => ({
    subject: `${quarter} 分の ${amount} は ${until} に支払われます`,
    body: `お選びのとおり、${quarter} 分の ${amount} を ${until} 以降に PayPal アカウント ${about} へ支払います。手数料は ${fee} です。それまでアカウントは変更できませんが、ボーナスへの変更はできます。`,
  }),
  paid: ({ quarter, amount, fee, about }) => ({
    subject: `${quarter} 分の ${amount} を支払いました`,
    body: `${quarter} 分の ${amount} を PayPal アカウント ${about} へ支払いました。手数料は ${fee} でした。`,
  }),
  failed: ({ quarter, amount, until, about }) => ({
    subject: `${quarter} 分の ${amount} が届きませんでした`,
    body: `${quarter} 分の ${amount} は PayPal アカウント ${about} に届きませんでした。失われたものはありません。${until} までにアカウントを確認するか、ボーナスをお選びください。お選びがない場合はボーナスになります。`,
  }),
  paypal_changed: ({ about }) => ({
    subject: 'PayPal アカウントが変更されました',
    body: `紹介の報酬は、そちらに届いたメールで確認されたあと、PayPal アカウント ${about} に支払われます。お心当たりがない場合は、アカウントを削除し、設定でほかのセッションを終了してください。`,
  }),
}

const KO: Said = {
  earned: ({ amount, about }) => ({
    subject: `추천한 친구의 첫 충전으로 ${amount} 적립`,
    body: `회원님의 링크로 가입한 친구${about === '' ? '' : `(${about})`}의 충전이 조건을 채웠습니다. ${amount}은 이번 분기 정산에 포함됩니다.`,
  }),
  choose: ({ quarter, amount, until }) => ({
    subject: `${quarter} 종료: ${amount}을 어떻게 받으시겠습니까?`,
    body: `${quarter}까지 ${amount}을 적립하셨습니다. ${until}까지 받는 방법을 선택해 주세요. 수수료 없는 크레딧 보너스, 또는 수수료를 뺀 PayPal 현금입니다. 선택하지 않으면 보너스로 지급됩니다.`,
  }),
  reminder: ({ quarter, amount, until }) => ({
    subject: `${until}까지 ${quarter} 정산 방법을 선택해 주세요`,
    body: `${quarter}의 ${amount}이 선택 또는 PayPal 계정 확인을 기다리고 있습니다. ${until}에 크레딧 보너스로 지급됩니다.`,
  }),
  credited: ({ quarter, amount }) => ({
    subject: `${quarter} 정산: 크레딧 ${amount} 지급`,
    body: `${quarter}까지의 적립금이 보너스로 정산되었습니다. 크레딧 ${amount}이 잔액에 추가되었으며, 모든 서비스에 사용할 수 있고 만료되지 않습니다.`,
  }),
  scheduled: ({ quarter, amount, fee, until, about }) => ({
    subject: `${quarter}의 ${amount}은 ${until}에 지급됩니다`,
    body: `선택하신 대로 ${quarter}의 ${amount}을 ${until}부터 PayPal 계정 ${about}(으)로 지급합니다. 수수료는 ${fee}입니다. 그때까지 계정은 변경할 수 없지만 보너스로 바꿀 수는 있습니다.`,
  }),
  paid: ({ quarter, amount, fee, about }) => ({
    subject: `${quarter}의 ${amount} 지급 완료`,
    body: `${quarter}의 ${amount}을 PayPal 계정 ${about}(으)로 지급했습니다. 수수료는 ${fee}이었습니다.`,
  }),
  failed: ({ quarter, amount, until, about }) => ({
    subject: `${quarter}의 ${amount}이 도착하지 않았습니다`,
    body: `${quarter}의 ${amount}이 PayPal 계정 ${about}에 도착하지 않았습니다. 사라진 금액은 없습니다. ${until}까지 계정을 확인하거나 보너스를 선택해 주세요. 선택하지 않으면 보너스로 지급됩니다.`,
  }),
  paypal_changed: ({ about }) => ({
    subject: 'PayPal 계정이 변경되었습니다',
    body: `추천 적립금은 해당 주소로 보낸 메일에서 확인된 뒤 PayPal 계정 ${about}(으)로 지급됩니다. 본인이 요청하지 않았다면 계정을 삭제하고 설정에서 다른 세션을 종료해 주세요.`,
  }),
}

/** What stands before and after what is said. */
const FRAMES: Record<Language, { said: Said; hello: string; colon: string; here: string }> = {
  en: { said: EN, hello: 'Hello,', colon: ': ', here: 'Your referrals are here:' },
  zh: { said: ZH, hello: '您好！', colon: '：', here: '您的推荐请见：' },
  ja: { said: JA, hello: 'こんにちは。', colon: ': ', here: 'ご紹介の状況はこちらでご覧いただけます。' },
  ko: { said: KO, hello: '안녕하세요.', colon: ': ', here: '추천 현황은 여기에서 볼 수 있습니다.' },
}

function textsIn(language: Language): NoticeTexts<Values>[Language] {
  const { said, hello, colon, here } = FRAMES[language]
  return {
    subject: values => `${values.brand}${colon}${said[values.news](values).subject}`,
    body: values => [hello, said[values.news](values).body, here, values.link],
  }
}

/** The mails about what is earned by referring (R1.6). */
export const REFERRAL_TEXTS: NoticeTexts<Values> = {
  en: textsIn('en'),
  zh: textsIn('zh'),
  ja: textsIn('ja'),
  ko: textsIn('ko'),
}
