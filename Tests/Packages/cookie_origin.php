<?php
// Echoes the cookies as PHP reads them: php -S HOST:PORT cookie_origin.php
header('Content-Type: application/json');
header('Cache-Control: public, max-age=60');
$raw = isset($_SERVER['HTTP_COOKIE']) ? base64_encode($_SERVER['HTTP_COOKIE']) : null;
echo json_encode(['raw' => $raw, 'cookies' => (object) $_COOKIE], JSON_INVALID_UTF8_SUBSTITUTE | JSON_THROW_ON_ERROR);
