import type { Language } from '@berth/contract/limits'
import type { FilmFacts } from '../facts.ts'
import type { NoticeTexts } from './notice-mail.ts'

interface Values {
  /** When it was asked for: by that its customer knows which it is. */
  at: string
  outcome: FilmFacts['outcome']
  /** As the catalogue calls it. */
  model: string
}

type Said = Record<FilmFacts['outcome'], { subject: string; meaning: string }>

/** What became of it. What it shows is not said: mails are read by others, too. */
const OUTCOMES: Record<Language, Said> = {
  en: {
    ready: {
      subject: 'Your video is ready',
      meaning: 'The video that you had made is ready, and is kept for some time. Watch it or save it here:',
    },
    failed: {
      subject: 'Your video was not made',
      meaning:
        'The video that you asked for was not made, and was not charged. Why, and how to have it made again, is said here:',
    },
  },
  zh: {
    ready: { subject: '您的视频已完成', meaning: '您制作的视频已完成，并会保留一段时间。可在此观看或保存：' },
    failed: {
      subject: '您的视频未能制作',
      meaning: '您要求的视频未能制作，也未收费。原因及重新制作的方法请见：',
    },
  },
  ja: {
    ready: {
      subject: '動画ができました',
      meaning: 'ご依頼の動画ができました。しばらくの間保存されます。こちらで再生や保存ができます。',
    },
    failed: {
      subject: '動画は作成されませんでした',
      meaning:
        'ご依頼の動画は作成されず、料金もかかっていません。理由と作り直す方法はこちらでご覧いただけます。',
    },
  },
  ko: {
    ready: {
      subject: '영상이 준비되었습니다',
      meaning: '요청하신 영상이 준비되었으며 얼마 동안 보관됩니다. 여기에서 보거나 저장할 수 있습니다.',
    },
    failed: {
      subject: '영상이 만들어지지 않았습니다',
      meaning:
        '요청하신 영상이 만들어지지 않았으며 요금도 부과되지 않았습니다. 이유와 다시 만드는 방법은 여기에서 볼 수 있습니다.',
    },
  },
}

/** The mail about a film that somebody wanted to be told of. */
export const FILM_TEXTS: NoticeTexts<Values> = {
  en: {
    subject: ({ brand, outcome }) => `${brand}: ${OUTCOMES.en[outcome].subject}`,
    body: ({ at, outcome, model, link }) => [
      'Hello,',
      `This is about the video by ${model} that you asked for at ${at}.`,
      OUTCOMES.en[outcome].meaning,
      link,
    ],
  },
  zh: {
    subject: ({ brand, outcome }) => `${brand}：${OUTCOMES.zh[outcome].subject}`,
    body: ({ at, outcome, model, link }) => [
      '您好！',
      `此邮件与您于 ${at} 使用 ${model} 开始制作的视频有关。`,
      OUTCOMES.zh[outcome].meaning,
      link,
    ],
  },
  ja: {
    subject: ({ brand, outcome }) => `${brand}: ${OUTCOMES.ja[outcome].subject}`,
    body: ({ at, outcome, model, link }) => [
      'こんにちは。',
      `${at} に ${model} へご依頼の動画についてのお知らせです。`,
      OUTCOMES.ja[outcome].meaning,
      link,
    ],
  },
  ko: {
    subject: ({ brand, outcome }) => `${brand}: ${OUTCOMES.ko[outcome].subject}`,
    body: ({ at, outcome, model, link }) => [
      '안녕하세요.',
      `${at}에 ${model} 모델로 요청하신 영상에 관한 안내입니다.`,
      OUTCOMES.ko[outcome].meaning,
      link,
    ],
  },
}
