-- Requests one target, with a pause before each request. Arguments: target, mean pause in
-- milliseconds (half of it to one and a half).
local pause, target = 0, ""
function init(arguments)
    target, pause = arguments[1], tonumber(arguments[2])
end
function request()
    return wrk.format(nil, target)
end
function delay()
    return math.random(math.floor(pause / 2), math.ceil(pause * 1.5))
end
